"""Which rows are wanted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

from .reading import Entry, Reader

ENDLESS = 1e10
"""Unix seconds, long after now."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a row has to be; an empty field is no condition. Times are Unix seconds.

    Attributes:
        kind: of which kind it is.
        since: when it was written, at the earliest.
        until: before when.
        person: who did or approved it, as ``CHANNEL:USER``.
        find: words that its object or its detail holds, in any letter case and spacing.
        session: its session.
        turn: its turn.
        turns: every row of a turn in which one is found is wanted, too.
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
    def is_all(self) -> bool:
        """True if there is no condition but the kind."""
        return self == Wanted(kind=self.kind)

    def fits(self, entry: Entry) -> bool:
        """Whether a row is what is wanted, its time aside."""
        stored, personal = entry.stored, entry.personal
        if self.kind and stored["kind"] != self.kind:
            return False
        if self.session and stored["session"] != self.session:
            return False
        if self.turn and stored["turn"] != self.turn:
            return False
        if self.person and self.person not in (personal.get("actor"), personal.get("approver")):
            return False
        return not self.find or _plain(self.find) in _plain(_words(entry))


async def rows(reader: Reader, wanted: Wanted) -> AsyncIterator[Entry]:
    """Yield the rows that are wanted, oldest first."""
    since = wanted.since if wanted.since is not None else 0.0
    until = wanted.until if wanted.until is not None else ENDLESS
    turns: set[str] = set()
    if wanted.turns:
        async for entry in reader.since(since, until):
            if entry.stored["turn"] and wanted.fits(entry):
                turns.add(entry.stored["turn"])
    async for entry in reader.since(since, until):
        if wanted.fits(entry) or entry.stored["turn"] in turns:
            yield entry


def _words(entry: Entry) -> str:
    detail = entry.personal.get("detail", {})
    sql = detail.get("sql") if isinstance(detail, dict) else None
    parts = (str(entry.personal.get("object", "")), str(sql or ""), json.dumps(detail))
    return "\n".join(parts)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
