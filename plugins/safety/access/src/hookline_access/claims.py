"""Claim codes: the first person who sends one becomes the first admin."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from dataclasses import dataclass

from hookline_hookspecs import Host, Inbound, Transaction
from hookline_hookspecs.audit import note
from hookline_hookspecs.sentences import N_

from .codes import CLAIM_CODE_CHARS, digest, new_code, parse_code
from .config import AccessConfig
from .people import WRONG_CODE, People, Person, Role, add_log_entry, claim_message_id, put_person

MAX_WRONG_CODES = 5
"""Wrong codes of one person within the validity of a claim code (per process); further ones are
ignored. There is no limit for all people together, because anyone could lock the operator out with
it, and 2e17 codes are too many to guess one in an hour."""
MAX_COUNTED_PEOPLE = 10_000
"""People whose wrong codes are counted."""


@dataclass(slots=True)
class ClaimAttempts:
    """The wrong codes of a person, forgotten at ``until`` (Unix seconds)."""

    until: float
    wrong: int = 0


class AdminClaims:
    """Claim codes, in the table ``access_claims``; only their digests are stored."""

    def __init__(self, config: AccessConfig, host: Host, people: People) -> None:
        self._config = config
        self._host = host
        self._people = people
        self._attempts: OrderedDict[Person, ClaimAttempts] = OrderedDict()

    async def make(self) -> str:
        """Create a claim code, in addition to the open ones."""
        now, code = self._host.now(), new_code(CLAIM_CODE_CHARS)
        expires = now + 60 * self._config.claim_minutes

        def work(tx: Transaction) -> None:
            tx.execute("prune_claims", now=now)
            tx.execute("add_claim", digest=digest(code), expires=expires)

        await self._people.transact(work)
        return code

    async def take(self, inbound: Inbound) -> bool:
        """Make the sender the first admin if the message is an open claim code.

        Call it only while there is no admin. Returns whether the person is admin now.
        """
        code, person = parse_code(inbound.text, CLAIM_CODE_CHARS), Person.of(inbound)
        now = self._host.now()
        if code is None or self._count_wrong(person, now) >= MAX_WRONG_CODES:
            return False
        is_right = await self._people.transact(
            lambda tx: self._take(tx, inbound, digest(code), now)
        )
        note(self._host, "access", str(person), "admin" if is_right else "denied", actor="claim")
        if not is_right:
            attempts = self._attempts.setdefault(
                person, ClaimAttempts(now + 60 * self._config.claim_minutes)
            )
            attempts.wrong += 1
            while len(self._attempts) > MAX_COUNTED_PEOPLE:
                self._attempts.popitem(last=False)
        return is_right

    def _count_wrong(self, person: Person, now: float) -> int:
        attempts = self._attempts.get(person)
        if attempts is not None and attempts.until <= now:
            del self._attempts[person]
            attempts = None
        return attempts.wrong if attempts is not None else 0

    def _take(self, tx: Transaction, inbound: Inbound, given: str, now: float) -> bool:
        person = Person.of(inbound)
        admins = tx.fetch("person_and_admins", channel="", user_id="")
        matches = [
            hmac.compare_digest(row["digest"], given) for row in tx.fetch("open_claims", now=now)
        ]
        if admins or not any(matches):
            tx.execute("count_wrong")
            add_log_entry(tx, person, WRONG_CODE, now)
            return False
        put_person(tx, person, Role.ADMIN, "claim", now, message_id=claim_message_id(inbound))
        tx.execute("drop_claims")
        tx.execute("drop_request", channel=person.channel, user_id=person.user_id)
        add_log_entry(tx, person, N_("became the first admin"), now)
        return True
