"""People and what they may do: those that config names, and those that pairing let in.

The table is read again when anybody has written, because ``hookline pairing`` is another process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from hookline_hookspecs import Host, Inbound, Transaction
from hookline_hookspecs.audit import note
from hookline_hookspecs.caching import RowCache
from hookline_hookspecs.channels import TERMINAL

from .config import AccessConfig, kind_of
from .roles import table

T = TypeVar("T")
Rows: TypeAlias = Sequence[Mapping[str, Any]]
LOGGED = 1000
"""Entries of the log that are kept."""
ASKED, WRONG = "asked to be let in", "sent a wrong claim code"
"""What anybody can have logged; a flood of these leaves half of the log to what was decided."""


def claiming(inbound: Inbound) -> str:
    """The id of a message among those of all channels of its kind."""
    bare = kind_of(inbound.channel) == inbound.channel
    return inbound.message_id if bare else f"{inbound.channel} {inbound.message_id}"


class Role(StrEnum):
    """What a person is; ``roles.yaml`` says what each may do."""

    ADMIN = "admin"
    MEMBER = "member"
    AUDITOR = "auditor"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"

    @property
    def may_write(self) -> bool:
        """True if the person's messages reach the agent."""
        return table().may(self, "chat")

    @property
    def may_decide(self) -> bool:
        """True if the person approves calls, and lets people in."""
        return table().may(self, "approve")


LONGEST_ID = 1_000
"""Bytes of an id; PostgreSQL's indexes take 2,704 for all the columns of a row."""


def is_short_enough(id_: str) -> bool:
    """False for an id that is longer, or no text at all."""
    try:
        return len(id_.encode()) <= LONGEST_ID
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class Person:
    """A person on a channel. Ids are compared literally.

    Several channels of a kind, such as ``telegram`` and ``telegram:work``, speak with the same
    people: ``channel`` is the kind, and ``at`` the one where the person writes, if it is known.
    """

    channel: str
    user_id: str
    at: str = field(default="", compare=False)

    @classmethod
    def on(cls, channel: str, user_id: str) -> Person:
        """Who has this id on a channel."""
        return cls(kind_of(channel), user_id, channel)

    @classmethod
    def of(cls, inbound: Inbound) -> Person:
        """Who wrote a message."""
        return cls.on(inbound.channel, inbound.user_id)

    @property
    def place(self) -> str:
        """The channel where the person writes."""
        return self.at or self.channel

    @classmethod
    def parse(cls, text: str) -> Person | None:
        """``CHANNEL:USER``, or None; a user's id may hold colons."""
        channel, _, user = text.partition(":")
        return cls(channel, user) if channel and user else None

    @property
    def can_be_known(self) -> bool:
        """False for ids that are empty or that no database holds, or finds, as they are."""
        both = self.channel + self.user_id
        return bool(self.channel and self.user_id) and "\0" not in both and is_short_enough(both)

    def __str__(self) -> str:
        return f"{self.channel}:{self.user_id}"


class People:
    """Who is who. What was read last is kept, for those who cannot wait for the store."""

    def __init__(self, config: AccessConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._admins: frozenset[Person] = frozenset()
        self._rows: RowCache[Person, Rows] = RowCache(host)

    async def role(self, person: Person) -> Role:
        """The person's role now; which admins there are is read with it."""
        stored = await self._read(person)
        if self._config.is_admin(person.place, person.user_id):
            return Role.ADMIN
        if stored is not Role.BLOCKED and self._config.is_auditor(person.place, person.user_id):
            return Role.AUDITOR
        if stored in (Role.BLOCKED, Role.ADMIN, Role.AUDITOR):
            return stored
        if self._config.allows(person.place, person.user_id):
            return Role.MEMBER
        return stored

    async def _read(self, person: Person) -> Role:
        rows = await self._rows.get(person, lambda: self._fetch(person))
        found = {Person(row["channel"], row["user_id"]): Role(row["role"]) for row in rows}
        self._admins = frozenset(one for one, role in found.items() if role is Role.ADMIN)
        return found.get(person, Role.UNKNOWN)

    async def claimed_by(self, inbound: Inbound) -> bool:
        """True if exactly this message made its sender the first admin."""
        person = Person.of(inbound)
        key = (person.channel, person.user_id, claiming(inbound))
        rows = await self._fetch(person)
        return any((row["channel"], row["user_id"], row["message_id"]) == key for row in rows)

    async def _fetch(self, person: Person) -> Rows:
        return await self._host.storage.fetch(
            "person_and_admins", channel=person.channel, user_id=person.user_id
        )

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run a transaction that may change who somebody is."""
        self._rows.forget()
        try:
            return await self._host.storage.transact(work)
        finally:
            self._rows.forget()

    def is_admin(self, person: Person) -> bool:
        """True for an admin, as far as was read last."""
        if self._config.is_auditor(person.place, person.user_id):
            return False
        return person in self._admins or self._config.is_admin(person.place, person.user_id)

    def admins_of(self, channel: str) -> Sequence[Person]:
        """The admins of a channel, as far as was read last."""
        kind = kind_of(channel)
        others = [one.name for one in self._host.channels() if kind_of(one.name) == kind]
        named = set[Person]()
        for entry in self._config.named[0]:
            # The longest name: `telegram:work:111` is nobody of `telegram`.
            on = max([one for one in (kind, *others) if entry.startswith(f"{one}:")], default="")
            if on in (channel, kind):
                named.add(Person.on(channel, entry.removeprefix(f"{on}:")))
        known = {Person.on(channel, one.user_id) for one in self._admins if one.channel == kind}
        return sorted(named | known, key=str)

    async def has_admin(self) -> bool:
        """True if anybody is admin."""
        await self._read(Person("", ""))
        return self.has_known_admin

    @property
    def has_known_admin(self) -> bool:
        """True if anybody is admin, as far as was read last."""
        return self._config.has_admin or bool(self._admins)

    async def put(self, person: Person, role: Role, by: str) -> None:
        """Give a person a role, and forget what they asked for."""
        now = self._host.now()
        note(self._host, "access", str(person), str(role), actor=by)

        def work(tx: Transaction) -> None:
            put(tx, person, role, by, now)
            tx.execute("drop_request", channel=person.channel, user_id=person.user_id)
            log(tx, person, f"{role} by {by}", now)

        await self.transact(work)

    async def drop(self, person: Person, by: str = TERMINAL) -> bool:
        """Forget a person, and what they asked for; False if there was nothing."""
        now = self._host.now()
        key = {"channel": person.channel, "user_id": person.user_id}
        note(self._host, "access", str(person), "revoked", actor=by)

        def work(tx: Transaction) -> bool:
            found = tx.execute("drop_person", **key) + tx.execute("drop_request", **key)
            if found:
                log(tx, person, f"revoked by {by}", now)
            return found > 0

        return await self.transact(work)


def put(
    tx: Transaction,
    person: Person,
    role: Role,
    by: str,
    now: float,
    *,
    code: str = "",
    message_id: str = "",
) -> None:
    """Store a person in a transaction."""
    tx.execute(
        "put_person",
        channel=person.channel,
        user_id=person.user_id,
        role=str(role),
        code=code,
        message_id=message_id,
        by_whom=by,
        now=now,
    )


def log(tx: Transaction, person: Person, what: str, now: float) -> None:
    """Add to the log in a transaction."""
    tx.execute("add_log", now=now, person=str(person), what=what)
    tx.execute("prune_log", kept=LOGGED // 2, asked=ASKED, wrong=WRONG)
