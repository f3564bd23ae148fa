"""Filters rows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

from .entries import AuditEntry, EntryReader

FAR_FUTURE = 1e10
"""Unix time in seconds."""


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Conditions for rows; an empty field is no condition. Times are Unix seconds.

    Attributes:
        kind: the kind.
        since: written at or after this time.
        until: written before this time.
        person: who did or approved it, as ``CHANNEL:USER``.
        find: text in its object or detail; case and spacing are ignored.
        session: the session.
        turn: the turn.
        turns: also return all other rows of the turns that match.
    """

    kind: str = ""
    since: float | None = None
    until: float | None = None
    person: str = ""
    find: str = ""
    session: str = ""
    turn: str = ""
    turns: bool = False

    @property
    def has_only_kind(self) -> bool:
        """Whether there is no condition except the kind."""
        return self == EntryFilter(kind=self.kind)

    def matches(self, entry: AuditEntry) -> bool:
        """Whether a row meets the conditions; its time is not checked."""
        stored, personal = entry.stored, entry.personal
        if self.kind and stored["kind"] != self.kind:
            return False
        if self.session and stored["session"] != self.session:
            return False
        if self.turn and stored["turn"] != self.turn:
            return False
        if self.person and self.person not in (personal.get("actor"), personal.get("approver")):
            return False
        return not self.find or _normalized(self.find) in _normalized(_searchable_text(entry))


async def search_entries(reader: EntryReader, conditions: EntryFilter) -> AsyncIterator[AuditEntry]:
    """Yield the matching rows, oldest first."""
    since = conditions.since if conditions.since is not None else 0.0
    until = conditions.until if conditions.until is not None else FAR_FUTURE
    turns: set[str] = set()
    if conditions.turns:
        async for entry in reader.since(since, until):
            if entry.stored["turn"] and conditions.matches(entry):
                turns.add(entry.stored["turn"])
    async for entry in reader.since(since, until):
        if conditions.matches(entry) or entry.stored["turn"] in turns:
            yield entry


def _searchable_text(entry: AuditEntry) -> str:
    detail = entry.personal.get("detail", {})
    sql = detail.get("sql") if isinstance(detail, dict) else None
    parts = (str(entry.personal.get("object", "")), str(sql or ""), json.dumps(detail))
    return "\n".join(parts)


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())
