"""Everything that is remembered and the log of it, as rows; and taking an entry of the log back.

Other plugins that learn something join in by adding a service ``LearnedSource``
(``hookline_hookspecs.chat_files``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host, origins_to_json
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.chat_files import Chat, LearnedSource
from hookline_hookspecs.stored_origins import read

from .changes import Changes
from .facts import Facts
from .log import Entry, Source, newest
from .places import Places
from .wording import Complaint, one_line

SEARCHED = 100_000
"""Log entries that are searched for the origin of a note."""


class Rows:
    """What the command line and the pages show."""

    def __init__(self, host: Host, places: Places, facts: Facts, changes: Changes) -> None:
        self._host = host
        self._places = places
        self._facts = facts
        self._changes = changes

    async def remembered(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return every note and fact and what other plugins have learnt, each with the turn it
        comes from, and sentences about files that cannot be read."""
        rows, problems = await self._notes()
        rows += await self._fact_rows()
        for source in self._sources():
            rows += await source.list()
        return rows, problems

    async def log(self, limit: int) -> list[dict[str, Any]]:
        """Return what was learnt, changed and forgotten, newest first."""
        rows = [_entry_row(entry) for entry in await newest(self._host, limit)]
        for source in self._sources():
            rows += await source.log(limit)
        return sorted(rows, key=lambda row: row["at"] or 0.0, reverse=True)[:limit]

    async def undo(self, number: str) -> str:
        """Take an entry of the log back and return a sentence. Raises ``HooklineError``."""
        name, _, last = number.rpartition(":")
        if not last.isdecimal() or len(last) > 15:
            raise Complaint(f"{one_line(number, 40)!r} is no number of `hookline memory log`")
        if not name:
            source = Source(Chat(TERMINAL, "default"), "", "", "undo")
            made = await self._changes.undo(int(last), source)
            return f"Undone; `hookline memory undo {made}` takes that back."
        other = next((one for one in self._sources() if one.name == name), None)
        if other is None:
            raise Complaint(f"no plugin {name} that is on has a log")
        return await other.undo(int(last))

    def _sources(self) -> Sequence[LearnedSource]:
        return self._host.services.all(LearnedSource)

    async def _notes(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return a row for each note. Its origin is that of the same text in the log."""
        entries = await newest(self._host, SEARCHED)
        known = {
            (change["file"], change["after"]): entry
            for entry in reversed(entries)
            for change in entry.changes
            if change["kind"] == "note" and change["after"] is not None
        }
        rows, problems = [], []
        for file, chat in self._places.all():
            try:
                notes = file.read().notes
            except Complaint as error:
                problems.append(str(error))
                continue
            for text in notes.entries:
                entry = known.get((file.name, text))
                row = {"kind": "note", "chat": _name(chat), "text": text, "file": file.name}
                rows.append({**row, **(_where(entry) if entry else _BY_HAND)})
        return rows, problems

    async def _fact_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": "fact",
                "chat": _name(Chat(row["channel"], row["chat_id"])),
                "text": row["content"],
                "id": row["id"],
                "category": row["category"],
                "confidence": row["confidence"],
                "expires": row["expires_at"],
                "at": row["created"],
                "session": row["session_id"],
                "turn": row["turn"],
                "turn_id": row["turn_id"],
                "origins": origins_to_json(read(row["origins"])),
            }
            for row in await self._facts.all()
        ]


_BY_HAND: Mapping[str, Any] = {
    "at": None,
    "session": "",
    "turn": None,
    "turn_id": "",
    "origins": [],
}


def _name(chat: Chat | None) -> str:
    """Return the chat as it is written in config; empty for the global notes."""
    return "" if chat is None else f"{chat.channel}:{chat.chat_id}"


def _where(entry: Entry) -> dict[str, Any]:
    turn = {"turn": entry.turn, "turn_id": entry.turn_id}
    origins = {"origins": origins_to_json(entry.origins)}
    return {"at": entry.at, "session": entry.session_id, **turn, **origins}


def _entry_row(entry: Entry) -> dict[str, Any]:
    row = {"number": str(entry.number), "chat": _name(entry.chat), **_where(entry)}
    changes = [_told(change) for change in entry.changes]
    undo = {"undoes": entry.undoes, "undone_by": entry.undone_by}
    return row | {"origin": entry.origin, "changes": changes, **undo}


def _told(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change with its texts before and after."""
    if change["kind"] == "note":
        return dict(change)
    texts = {side: change[side] and change[side]["content"] for side in ("before", "after")}
    number = (change["before"] or change["after"])["id"]
    return {"kind": "fact", "op": change["op"], "id": number, **texts}
