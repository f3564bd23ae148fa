"""Pairing requests: an unknown person gets a code, and approving the code lets the person in.

Blocked people are answered like unknown ones, but their code cannot be approved.

A flood of strangers locks no one out: an open code is never replaced by that of another person.
Once all codes are in use, people get the name by which an admin can let them in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from hookline_hookspecs import Host, Inbound, Transaction
from hookline_hookspecs.audit import note
from hookline_hookspecs.inbound import is_private_chat

from .codes import PAIRING_CODE_CHARS, new_code
from .config import AccessConfig
from .people import ASKED, People, Person, Role, add_log_entry, put_person

DAY = 86400.0
MAX_REQUESTS_PER_CHANNEL = 5000
"""Stored requests of one channel; above this number expired ones are deleted."""
MAX_NO_CODE_REPLIES = 5000
"""People without a code who got that answer recently and get no other one (per process)."""


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """The open request of an unknown person. Times are Unix seconds."""

    person: Person
    chat_id: str
    code: str
    opened: float
    expires: float
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class PairingOutcome:
    """The outcome for a message of an unknown person.

    ``is_new``: the code was created for this message. If ``code`` is None, the person gets no
    answer, or, if ``is_full``, the answer that all codes are in use.
    """

    code: str | None
    is_new: bool = False
    is_full: bool = False


class PairingRequests:
    """Pairing codes, in the table ``access_requests``."""

    def __init__(self, config: AccessConfig, host: Host, people: People) -> None:
        self._config = config
        self._host = host
        self._people = people
        self._no_code_replies: OrderedDict[Person, float] = OrderedDict()

    async def request_access(self, inbound: Inbound) -> PairingOutcome:
        """Create or find the request for a message of a person who may not write.

        A message that is delivered again, as after a crash, gets the same code.
        """
        now = self._host.now()
        outcome = await self._people.transact(lambda tx: self._request_access(tx, inbound, now))
        if outcome.is_full and not self._should_reply(Person.of(inbound), now):
            return PairingOutcome(None)
        return outcome

    def _should_reply(self, person: Person, now: float) -> bool:
        """Whether to answer this person that no code is left: once, and only to a limited
        number."""
        while self._no_code_replies and next(iter(self._no_code_replies.values())) <= now:
            self._no_code_replies.popitem(last=False)
        if person in self._no_code_replies or len(self._no_code_replies) >= MAX_NO_CODE_REPLIES:
            return False
        self._no_code_replies[person] = now + 60 * self._config.code_minutes
        return True

    def _request_access(self, tx: Transaction, inbound: Inbound, now: float) -> PairingOutcome:
        key = {"channel": inbound.channel, "user_id": inbound.user_id}
        rows = tx.fetch("request_of", **key)
        began, given = now, 0
        if rows:
            row = rows[0]
            if row["message_id"] == inbound.message_id and row["expires"] > now:
                return PairingOutcome(row["code"])
            is_open, was_elsewhere = row["expires"] > now, row["chat_id"] != inbound.chat_id
            if is_open and was_elsewhere and is_private_chat(inbound):
                # The code was not shown in the group where the person wrote first.
                kept = {name: row[name] for name in ("code", "expires", "began", "given")}
                place = {"chat_id": inbound.chat_id, "message_id": inbound.message_id}
                tx.execute("put_request", **key, **place, **kept, now=now)
                return PairingOutcome(row["code"])
            if row["began"] > now - DAY:
                began, given = row["began"], row["given"]
            if row["expires"] > now or given >= self._config.codes_per_day:
                tx.execute("count_unanswered", **key)
                return PairingOutcome(None)
        tx.execute("prune_requests", before=now - DAY, now=now)
        counts = tx.fetch("how_many", channel=inbound.channel, now=now)[0]
        if not self._config.codes_per_day:
            return PairingOutcome(None)
        if counts["open"] >= self._config.open_codes:
            return PairingOutcome(None, is_full=True)
        if counts["known"] >= MAX_REQUESTS_PER_CHANNEL:
            tx.execute("drop_expired", channel=inbound.channel, now=now)
        code = _unused_code(tx)
        tx.execute(
            "put_request",
            **key,
            chat_id=inbound.chat_id,
            message_id=inbound.message_id,
            code=code,
            now=now,
            expires=now + 60 * self._config.code_minutes,
            began=began,
            given=given + 1,
        )
        add_log_entry(tx, Person.of(inbound), ASKED, now)
        return PairingOutcome(code, is_new=True)

    async def approve(self, code: str, by: str, role: Role = Role.MEMBER) -> PairingRequest | None:
        """Let in the person with this code; None if there is none.

        A code that was just approved succeeds again, so that a command that is repeated after a
        crash gives the same answer.
        """
        now = self._host.now()
        if (pending := await self.request(code)) is not None:
            note(self._host, "access", str(pending.person), str(role), actor=by)

        def work(tx: Transaction) -> PairingRequest | None:
            rows = tx.fetch("request_by", code=code, now=now)
            if rows and rows[0]["role"] == Role.BLOCKED:
                return None
            if not rows:
                approved = tx.fetch("let_in_by", code=code) if code else []
                people = [Person(row["channel"], row["user_id"]) for row in approved]
                return PairingRequest(people[0], "", code, now, now) if people else None
            request = _request(rows[0])
            person = request.person
            put_person(tx, person, role, by, now, code=code)
            tx.execute("drop_request", channel=person.channel, user_id=person.user_id)
            add_log_entry(tx, person, f"let in as {role} by {by}", now)
            return request

        request = await self._people.transact(work)
        if request is not None:
            await self._people.close_question(request.person, role, by)
        return request

    async def let_in(self, person: Person, by: str, role: Role = Role.MEMBER) -> bool:
        """Let in a person by name, also without a request; False if they are blocked."""
        now = self._host.now()
        note(self._host, "access", str(person), str(role), actor=by)

        def work(tx: Transaction) -> bool:
            key = {"channel": person.channel, "user_id": person.user_id}
            known = {
                Person(row["channel"], row["user_id"]): row["role"]
                for row in tx.fetch("person_and_admins", **key)
            }
            if known.get(person) == Role.BLOCKED:
                return False
            if known.get(person) == Role.ADMIN:
                return True
            put_person(tx, person, role, by, now)
            tx.execute("drop_request", **key)
            add_log_entry(tx, person, f"let in as {role} by {by}", now)
            return True

        is_in = await self._people.transact(work)
        if is_in:
            await self._people.close_question(person, role, by)
        return is_in

    async def waiting(self) -> Sequence[PairingRequest]:
        """The requests that can be approved, oldest first."""
        rows = await self._host.storage.fetch("open_requests", now=self._host.now())
        return [_request(row) for row in rows]

    async def request(self, code: str) -> PairingRequest | None:
        """The open request with this code."""
        return next((request for request in await self.waiting() if request.code == code), None)


def _unused_code(tx: Transaction) -> str:
    while tx.fetch("code_taken", code=(code := new_code(PAIRING_CODE_CHARS))):
        pass
    return code


def _request(row: object) -> PairingRequest:
    values: dict[str, object] = dict(row)  # type: ignore[call-overload]
    names = ("chat_id", "code", "opened", "expires", "unanswered")
    person = Person.on(str(values["channel"]), str(values["user_id"]))
    return PairingRequest(person, *[values[name] for name in names])  # type: ignore[arg-type]
