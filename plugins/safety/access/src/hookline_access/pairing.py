"""Pairing: unknown people get a code, and a code that is approved lets its person in.

Who is blocked is treated exactly like who is unknown; only, their code opens nothing.

However many strangers write, nobody is locked out: an open code is never taken back for another
person's, and whoever comes when all codes are given out is told the name under which an admin lets
them in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from hookline_hookspecs import Host, Inbound, Transaction
from hookline_hookspecs.audit import note

from .codes import PAIRING, new_code
from .config import AccessConfig
from .people import ASKED, People, Person, Role, log, put

DAY = 86400.0
MOST_ROWS = 5000
"""Requests of one channel that are kept, open or not; above, those that are over are forgotten."""
MOST_TOLD = 5000
"""People without a code who were told so, and are not told again for a while (per process)."""


@dataclass(frozen=True, slots=True)
class Request:
    """An unknown person's open request. Times are Unix seconds."""

    person: Person
    chat_id: str
    code: str
    opened: float
    expires: float
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """What a message of an unknown person came to. ``is_new``: the code was made just now;
    ``code`` is None where the person is to hear nothing, or, if ``is_full``, that all codes are
    given out."""

    code: str | None
    is_new: bool = False
    is_full: bool = False


class PairingRequests:
    """Pairing codes, in the table ``access_requests``."""

    def __init__(self, config: AccessConfig, host: Host, people: People) -> None:
        self._config = config
        self._host = host
        self._people = people
        self._told: OrderedDict[Person, float] = OrderedDict()

    async def request_access(self, inbound: Inbound) -> AccessRequest:
        """Answer a message of somebody who may not write.

        A message that is delivered again gets the same code, so that a crash loses nothing.
        """
        now = self._host.now()
        attempt = await self._people.transact(lambda tx: self._request_access(tx, inbound, now))
        if attempt.is_full and not self._first_time(Person.of(inbound), now):
            return AccessRequest(None)
        return attempt

    def _first_time(self, person: Person, now: float) -> bool:
        """True if this person was not told yet; where too many were, nobody else is."""
        while self._told and next(iter(self._told.values())) <= now:
            self._told.popitem(last=False)
        if person in self._told or len(self._told) >= MOST_TOLD:
            return False
        self._told[person] = now + 60 * self._config.code_minutes
        return True

    def _request_access(self, tx: Transaction, inbound: Inbound, now: float) -> AccessRequest:
        key = {"channel": inbound.channel, "user_id": inbound.user_id}
        rows = tx.fetch("request_of", **key)
        began, given = now, 0
        if rows:
            row = rows[0]
            if row["message_id"] == inbound.message_id and row["expires"] > now:
                return AccessRequest(row["code"])
            if row["began"] > now - DAY:
                began, given = row["began"], row["given"]
            if row["expires"] > now or given >= self._config.codes_per_day:
                tx.execute("count_unanswered", **key)
                return AccessRequest(None)
        tx.execute("prune_requests", before=now - DAY, now=now)
        rows_here = tx.fetch("how_many", channel=inbound.channel, now=now)[0]
        if not self._config.codes_per_day:
            return AccessRequest(None)
        if rows_here["open"] >= self._config.open_codes:
            return AccessRequest(None, is_full=True)
        if rows_here["known"] >= MOST_ROWS:
            tx.execute("drop_expired", channel=inbound.channel, now=now)
        code = _unused(tx)
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
        log(tx, Person.of(inbound), ASKED, now)
        return AccessRequest(code, is_new=True)

    async def approve(self, code: str, by: str, role: Role = Role.MEMBER) -> Request | None:
        """Let in whoever has this code; None if there is nobody.

        A code that has just let somebody in does so again, so that a command which is run twice
        after a crash gives the same answer.
        """
        now = self._host.now()
        if (asked := await self.request(code)) is not None:
            note(self._host, "access", str(asked.person), str(role), actor=by)

        def work(tx: Transaction) -> Request | None:
            rows = tx.fetch("request_by", code=code, now=now)
            if rows and rows[0]["role"] == Role.BLOCKED:
                return None
            if not rows:
                done = tx.fetch("let_in_by", code=code) if code else []
                people = [Person(row["channel"], row["user_id"]) for row in done]
                return Request(people[0], "", code, now, now) if people else None
            request = _request(rows[0])
            person = request.person
            put(tx, person, role, by, now, code=code)
            tx.execute("drop_request", channel=person.channel, user_id=person.user_id)
            log(tx, person, f"let in as {role} by {by}", now)
            return request

        return await self._people.transact(work)

    async def let_in(self, person: Person, by: str, role: Role = Role.MEMBER) -> bool:
        """Let in a person by name, asked or not; False for one that is blocked."""
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
            put(tx, person, role, by, now)
            tx.execute("drop_request", **key)
            log(tx, person, f"let in as {role} by {by}", now)
            return True

        return await self._people.transact(work)

    async def waiting(self) -> Sequence[Request]:
        """The requests that can be approved, oldest first."""
        rows = await self._host.storage.fetch("open_requests", now=self._host.now())
        return [_request(row) for row in rows]

    async def request(self, code: str) -> Request | None:
        """The open request with this code."""
        return next((one for one in await self.waiting() if one.code == code), None)


def _unused(tx: Transaction) -> str:
    while tx.fetch("code_taken", code=(code := new_code(PAIRING))):
        pass
    return code


def _request(row: object) -> Request:
    values: dict[str, object] = dict(row)  # type: ignore[call-overload]
    names = ("chat_id", "code", "opened", "expires", "unanswered")
    person = Person.on(str(values["channel"]), str(values["user_id"]))
    return Request(person, *[values[name] for name in names])  # type: ignore[arg-type]
