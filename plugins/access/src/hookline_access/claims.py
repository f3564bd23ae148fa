"""Claim codes: whoever sends one first is the first admin."""

from __future__ import annotations

import hmac
from collections import OrderedDict

from hookline_hookspecs import Host, Inbound, Transaction

from .codes import CLAIM, digest, new_code, typed
from .config import AccessConfig
from .people import Person, Role, log, put

MOST_WRONG = 20
"""Wrong codes, of all people together, that make every open one void."""
MOST_WRONG_EACH = 5
"""Wrong codes of one person in this process; what they send after that is not looked at."""
REMEMBERED = 1000
"""People whose wrong codes are counted."""


class Claims:
    """Claim codes, in the table ``access_claims``; only their digests are kept."""

    def __init__(self, config: AccessConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._wrong: OrderedDict[Person, int] = OrderedDict()

    async def make(self) -> str:
        """A new claim code, beside those that are open."""
        now, code = self._host.now(), new_code(CLAIM)
        expires = now + 60 * self._config.claim_minutes

        def work(tx: Transaction) -> None:
            tx.execute("prune_claims", now=now, most=MOST_WRONG)
            tx.execute("add_claim", digest=digest(code), expires=expires)

        await self._host.storage.transact(work)
        return code

    async def take(self, inbound: Inbound) -> bool:
        """Make the sender the first admin if the message is an open claim code.

        Only to be called while there is no admin in config. True if the person is admin now.
        """
        code, person = typed(inbound.text, CLAIM), Person.of(inbound)
        if code is None or self._wrong.get(person, 0) >= MOST_WRONG_EACH:
            return False
        now = self._host.now()
        is_right = await self._host.storage.transact(
            lambda tx: self._take(tx, inbound, digest(code), now)
        )
        if not is_right:
            self._wrong[person] = self._wrong.pop(person, 0) + 1
            while len(self._wrong) > REMEMBERED:
                self._wrong.popitem(last=False)
        return is_right

    def _take(self, tx: Transaction, inbound: Inbound, given: str, now: float) -> bool:
        person = Person.of(inbound)
        admins = tx.fetch("person_and_admins", channel="", user_id="")
        matches = [
            hmac.compare_digest(row["digest"], given)
            for row in tx.fetch("open_claims", now=now, most=MOST_WRONG)
        ]
        if admins or not any(matches):
            tx.execute("count_wrong")
            log(tx, person, "sent a wrong claim code", now)
            return False
        put(tx, person, Role.ADMIN, "claim", now, message_id=inbound.message_id)
        tx.execute("drop_claims")
        tx.execute("drop_request", channel=person.channel, user_id=person.user_id)
        log(tx, person, "claimed to be the first admin", now)
        return True
