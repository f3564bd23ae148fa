"""People and their roles: from config.yaml, and from the table that pairing fills.

The cached rows are dropped whenever the store changes, because ``hookline pairing`` is another
process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from hookline_hookspecs import Host, Inbound, Questions, Transaction
from hookline_hookspecs.audit import note
from hookline_hookspecs.caching import RowCache
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.sentences import N_

from .config import AccessConfig, channel_kind
from .roles import role_table

T = TypeVar("T")
Rows: TypeAlias = Sequence[Mapping[str, Any]]
HANDLER = "access"
"""The name under which the plugin acts on answers."""
LET_IN, BLOCK = "Let in", "Block"
"""The choices of the question whether a person may write."""
MAX_LOG_ENTRIES = 1000
MAX_ID_BYTES = 1_000
"""PostgreSQL's indexes hold 2,704 bytes for all columns of a row."""
ASKED = N_("asked to be let in")
"""A log entry that anyone can cause. At most half of the log holds such entries."""
WRONG_CODE = N_("sent a wrong claim code")
"""A log entry that anyone can cause, like :data:`ASKED`."""


def claim_message_id(inbound: Inbound) -> str:
    """The id of a message, unique among all channels of its kind."""
    bare = channel_kind(inbound.channel) == inbound.channel
    return inbound.message_id if bare else f"{inbound.channel} {inbound.message_id}"


class Role(StrEnum):
    """The role of a person; ``roles.yaml`` says what each may do."""

    ADMIN = "admin"
    MEMBER = "member"
    AUDITOR = "auditor"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"

    @property
    def may_write(self) -> bool:
        """Whether messages of the person reach the agent."""
        return role_table().may(self, "chat")

    @property
    def may_decide(self) -> bool:
        """Whether the person can approve calls and let people in."""
        return role_table().may(self, "approve")


def choose_role(*, admin: bool, auditor: bool) -> Role:
    """The role for the options ``--admin`` and ``--auditor``."""
    if admin:
        return Role.ADMIN
    return Role.AUDITOR if auditor else Role.MEMBER


def is_short_enough(id_: str) -> bool:
    """Whether an id is valid Unicode of at most :data:`MAX_ID_BYTES`."""
    try:
        return len(id_.encode()) <= MAX_ID_BYTES
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class Person:
    """A person on a channel. Ids are compared literally.

    Several channels of a kind, such as ``telegram`` and ``telegram:work``, reach the same people:
    ``channel`` is the kind, and ``at`` the channel where the person writes, if known.
    """

    channel: str
    user_id: str
    at: str = field(default="", compare=False)

    @classmethod
    def on(cls, channel: str, user_id: str) -> Person:
        """The person with this id on a channel."""
        return cls(channel_kind(channel), user_id, channel)

    @classmethod
    def of(cls, inbound: Inbound) -> Person:
        """The sender of a message."""
        return cls.on(inbound.channel, inbound.user_id)

    @property
    def place(self) -> str:
        """The channel where the person writes."""
        return self.at or self.channel

    @classmethod
    def parse(cls, text: str) -> Person | None:
        """Parse ``CHANNEL:USER``; None if invalid. The user id may contain colons."""
        channel, _, user = text.partition(":")
        return cls(channel, user) if channel and user else None

    @property
    def can_be_known(self) -> bool:
        """Whether the ids are not empty and every database can store and find them."""
        both = self.channel + self.user_id
        return bool(self.channel and self.user_id) and "\0" not in both and is_short_enough(both)

    def __str__(self) -> str:
        return f"{self.channel}:{self.user_id}"


class People:
    """The people and their roles. The admins read last are kept for callers that cannot await."""

    def __init__(self, config: AccessConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._admins: frozenset[Person] = frozenset()
        self._rows: RowCache[Person, Rows] = RowCache(host)

    async def role(self, person: Person) -> Role:
        """The current role of a person; reads the admins too."""
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
        """Whether exactly this message made its sender the first admin."""
        person = Person.of(inbound)
        key = (person.channel, person.user_id, claim_message_id(inbound))
        rows = await self._fetch(person)
        return any((row["channel"], row["user_id"], row["message_id"]) == key for row in rows)

    async def _fetch(self, person: Person) -> Rows:
        return await self._host.storage.fetch(
            "person_and_admins", channel=person.channel, user_id=person.user_id
        )

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run a transaction that may change roles."""
        self._rows.forget()
        try:
            return await self._host.storage.transact(work)
        finally:
            self._rows.forget()

    def is_admin(self, person: Person) -> bool:
        """Whether a person is an admin, as of the last read."""
        if self._config.is_auditor(person.place, person.user_id):
            return False
        return person in self._admins or self._config.is_admin(person.place, person.user_id)

    def admins_of(self, channel: str) -> Sequence[Person]:
        """The admins of a channel, as of the last read."""
        kind = channel_kind(channel)
        others = [other.name for other in self._host.channels() if channel_kind(other.name) == kind]
        named = set[Person]()
        for entry in self._config.named[0]:
            # The longest matching name: `telegram:work:111` is not a user of `telegram`.
            on = max([name for name in (kind, *others) if entry.startswith(f"{name}:")], default="")
            if on in (channel, kind):
                named.add(Person.on(channel, entry.removeprefix(f"{on}:")))
        known = {
            Person.on(channel, admin.user_id) for admin in self._admins if admin.channel == kind
        }
        return sorted(named | known, key=str)

    async def has_admin(self) -> bool:
        """Whether there is an admin."""
        await self._read(Person("", ""))
        return self.has_known_admin

    @property
    def has_known_admin(self) -> bool:
        """Whether there is an admin, as of the last read."""
        return self._config.has_admin or bool(self._admins)

    async def put(self, person: Person, role: Role, by: str) -> None:
        """Give a person a role and delete their request."""
        now = self._host.now()
        note(self._host, "access", str(person), str(role), actor=by)

        def work(tx: Transaction) -> None:
            put_person(tx, person, role, by, now)
            tx.execute("drop_request", channel=person.channel, user_id=person.user_id)
            add_log_entry(tx, person, f"{role} by {by}", now)

        await self.transact(work)
        await self.close_question(person, role, by)

    async def close_question(self, person: Person, role: Role, by: str) -> None:
        """Close the question whether the person may write, which ``by`` has decided."""
        choice = BLOCK if role is Role.BLOCKED else LET_IN
        await self._host.services[Questions].close_about(HANDLER, str(person), choice, by)

    async def drop(self, person: Person, by: str = TERMINAL) -> bool:
        """Delete a person and their request; False if there was neither."""
        now = self._host.now()
        key = {"channel": person.channel, "user_id": person.user_id}
        note(self._host, "access", str(person), "revoked", actor=by)

        def work(tx: Transaction) -> bool:
            found = tx.execute("drop_person", **key) + tx.execute("drop_request", **key)
            if found:
                add_log_entry(tx, person, f"revoked by {by}", now)
            return found > 0

        return await self.transact(work)


def put_person(
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


def add_log_entry(tx: Transaction, person: Person, what: str, now: float) -> None:
    """Add to the log in a transaction."""
    tx.execute("add_log", now=now, person=str(person), what=what)
    tx.execute("prune_log", kept=MAX_LOG_ENTRIES // 2, asked=ASKED, wrong=WRONG_CODE)
