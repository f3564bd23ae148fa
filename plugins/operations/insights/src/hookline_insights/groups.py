"""The usage by person, chat, database or skill."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import Storage, StoreError, Usage
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.storage import Row

from .report import TOKEN_KINDS, first_moment

GROUPINGS = ("person", "chat", "database", "skill")
DELETED, NOBODY = "(deleted)", "(nobody)"
PERSON_ORIGINS = frozenset({"operator", "admin", "person"})
"""The kinds of origins that name a person."""


class InvalidGrouping(ValueError):
    """An unknown grouping; the message is for the person."""


@dataclass(slots=True)
class UsageGroup:
    """The usage of one person, chat, database or skill, in tokens and US dollars.

    ``money`` is None if a price is unknown. ``calls`` and ``failed`` count calls of database tools.
    """

    name: str
    requests: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0
    fresh: int = 0
    money: float | None = 0.0
    calls: int = 0
    failed: int = 0
    turns: set[str] = field(default_factory=set)

    def add(self, row: Row, prices: Prices) -> None:
        """Add a turn's usage of one model."""
        usage = Usage(**{name: row[name] for name in TOKEN_KINDS})
        for name in ("requests", *TOKEN_KINDS):
            setattr(self, name, getattr(self, name) + row[name])
        self.fresh += usage.fresh
        cost = prices.cost(row["model"], usage, row["thousands"] * 1000 + 1)
        self.money = None if cost is None or self.money is None else self.money + cost
        self.turns.add(row["turn_id"])

    def as_dict(self) -> dict[str, Any]:
        """Return the group for JSON; ``turns`` becomes a number."""
        row = {name: getattr(self, name) for name in self.__slots__}
        return {**row, "turns": len(self.turns)}


def parse_grouping(text: str) -> str:
    """Check the name of a grouping. Raises :class:`InvalidGrouping`."""
    if text not in GROUPINGS:
        raise InvalidGrouping(f"{text[:40]!r} is not one of {', '.join(GROUPINGS)}")
    return text


async def groups(
    storage: Storage, by: str, days: int, now: float, chat: tuple[str, str] | None, prices: Prices
) -> list[UsageGroup]:
    """Return the usage of each in the last ``days`` days, including today, most expensive first.

    A turn that used two skills or databases counts for both.
    """
    since = first_moment(days, now)
    channel, chat_id = chat or (None, None)
    rows = await storage.fetch("used_by_turns", since=since, channel=channel, chat_id=chat_id)
    found: dict[str, UsageGroup] = {}
    names = await _names(storage, by, since, rows)
    for row in rows:
        for name in names(row):
            found.setdefault(name, UsageGroup(name)).add(row, prices)
    if by == "database":
        seen = {row["turn_id"] for row in rows}
        for turn, name, ok in await _calls(storage, since):
            if turn in seen:
                group = found.setdefault(name, UsageGroup(name))
                group.calls += 1
                group.failed += not ok
    return sorted(
        found.values(),
        key=lambda group: (-(group.money or 0.0), -group.input - group.output, group.name),
    )


async def _names(storage: Storage, by: str, since: float, rows: Sequence[Row]) -> Any:
    """A function that returns the names of the groups to which a row counts."""
    if by == "chat":
        return lambda row: [_chat(row)]
    if by == "person":
        people = _TurnOwners(await storage.fetch("first_messages", since=since), rows)
        return lambda row: [people.of(row)]
    of_turn: dict[str, set[str]] = {}
    if by == "database":
        for turn, name, _ok in await _calls(storage, since):
            of_turn.setdefault(turn, set()).add(name)
    else:
        try:
            for row in await storage.fetch("skills_in_turns", since=since):
                of_turn.setdefault(row["turn_id"], set()).add(row["name"])
        except StoreError:  # the plugin skills was never on
            pass
    return lambda row: sorted(of_turn.get(row["turn_id"], ()))


def _chat(row: Row) -> str:
    return DELETED if row["channel"] is None else f"{row['channel']}:{row['chat_id']}"


async def _calls(storage: Storage, since: float) -> list[tuple[str, str, bool]]:
    """The turn, database and success of each call."""
    found = []
    for row in await storage.fetch("database_calls", since=since):
        try:
            name = json.loads(row["arguments"]).get("db")
        except (ValueError, AttributeError):
            continue
        if isinstance(name, str) and name:
            found.append((row["turn_id"], name, bool(row["ok"])))
    return found


class _TurnOwners:
    """Finds the person of a turn; sub-agents and reviews count for their parent session."""

    def __init__(self, messages: Sequence[Row], rows: Sequence[Row]) -> None:
        self._of_turn: dict[str, str] = {}
        self._of_session: dict[str, str] = {}
        for row in messages:
            if person := _person(row["body"]):
                self._of_turn[row["turn_id"]] = self._of_session[row["session_id"]] = person
        self._parents: Mapping[str, str | None] = {
            row["session_id"]: row["parent_id"] for row in rows
        }

    def of(self, row: Row) -> str:
        if found := self._of_turn.get(row["turn_id"]):
            return found
        if row["channel"] is None:
            return DELETED
        session: str | None = row["session_id"]
        for _ in range(20):
            if session is None:
                break
            if found := self._of_session.get(session):
                return found
            session = self._parents.get(session)
        return NOBODY


def _person(body: str) -> str:
    try:
        blocks = json.loads(body)["blocks"]
        for block in blocks:
            for kind, name, *_ in block.get("origins", ()):
                if kind in PERSON_ORIGINS and name:
                    return str(name)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    return ""
