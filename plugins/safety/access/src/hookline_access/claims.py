"""Claim codes: whoever sends one first is the first admin."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from dataclasses import dataclass

from hookline_hookspecs import Host, Inbound, Transaction
from hookline_hookspecs.audit import note

from .codes import CLAIM, digest, new_code, typed
from .config import AccessConfig
from .people import WRONG, People, Person, Role, claiming, log, put

MOST_WRONG_EACH = 5
"""Wrong codes of one person, in this process, while a claim code is good for; what they send after
that is not looked at. There is no limit for all together: it would let anybody lock the operator
out, and 2e17 codes are too many to guess one in an hour however many people try."""
REMEMBERED = 10_000
"""People whose wrong codes are counted."""


@dataclass(slots=True)
class Tries:
    """A person's wrong codes, forgotten at ``until`` (Unix seconds)."""

    until: float
    wrong: int = 0


class Claims:
    """Claim codes, in the table ``access_claims``; only their digests are kept."""

    def __init__(self, config: AccessConfig, host: Host, people: People) -> None:
        self._config = config
        self._host = host
        self._people = people
        self._tries: OrderedDict[Person, Tries] = OrderedDict()

    async def make(self) -> str:
        """A new claim code, beside those that are open."""
        now, code = self._host.now(), new_code(CLAIM)
        expires = now + 60 * self._config.claim_minutes

        def work(tx: Transaction) -> None:
            tx.execute("prune_claims", now=now)
            tx.execute("add_claim", digest=digest(code), expires=expires)

        await self._people.transact(work)
        return code

    async def take(self, inbound: Inbound) -> bool:
        """Make the sender the first admin if the message is an open claim code.

        Only to be called while there is no admin in config. True if the person is admin now.
        """
        code, person = typed(inbound.text, CLAIM), Person.of(inbound)
        now = self._host.now()
        if code is None or self._wrong(person, now) >= MOST_WRONG_EACH:
            return False
        is_right = await self._people.transact(
            lambda tx: self._take(tx, inbound, digest(code), now)
        )
        note(self._host, "access", str(person), "admin" if is_right else "denied", actor="claim")
        if not is_right:
            tries = self._tries.setdefault(person, Tries(now + 60 * self._config.claim_minutes))
            tries.wrong += 1
            while len(self._tries) > REMEMBERED:
                self._tries.popitem(last=False)
        return is_right

    def _wrong(self, person: Person, now: float) -> int:
        tries = self._tries.get(person)
        if tries is not None and tries.until <= now:
            del self._tries[person]
            tries = None
        return tries.wrong if tries is not None else 0

    def _take(self, tx: Transaction, inbound: Inbound, given: str, now: float) -> bool:
        person = Person.of(inbound)
        admins = tx.fetch("person_and_admins", channel="", user_id="")
        matches = [
            hmac.compare_digest(row["digest"], given) for row in tx.fetch("open_claims", now=now)
        ]
        if admins or not any(matches):
            tx.execute("count_wrong")
            log(tx, person, WRONG, now)
            return False
        put(tx, person, Role.ADMIN, "claim", now, message_id=claiming(inbound))
        tx.execute("drop_claims")
        tx.execute("drop_request", channel=person.channel, user_id=person.user_id)
        log(tx, person, "claimed to be the first admin", now)
        return True
