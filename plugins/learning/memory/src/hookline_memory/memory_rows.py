"""Everything remembered and its log, as rows for commands and pages; undoing a log entry.

Other plugins that learn something add a service ``LearnedSource``
(``hookline_hookspecs.chat_files``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host, origins_to_json
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.chat_files import Chat, LearnedSource
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.stored_origins import read

from .change_log import ChangeSource, LogEntry, newest
from .changes import MemoryChanges
from .errors import InvalidOperation
from .facts import FactStore
from .note_paths import NotePaths
from .text import one_line

MAX_SEARCHED_ENTRIES = 100_000
"""Log entries searched for the origin of a note."""


class MemoryRows:
    """Rows for the command line and the pages."""

    def __init__(
        self, host: Host, note_paths: NotePaths, facts: FactStore, changes: MemoryChanges
    ) -> None:
        self._host = host
        self._note_paths = note_paths
        self._facts = facts
        self._changes = changes

    async def remembered(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return rows for all notes, facts and entries of other plugins, and sentences about files
        that cannot be read."""
        rows, problems = await self._notes()
        rows += await self._fact_rows()
        for source in self._sources():
            rows += await source.list()
        return rows, problems

    async def log(self, limit: int) -> list[dict[str, Any]]:
        """Return the changes, newest first."""
        rows = [_entry_row(entry) for entry in await newest(self._host, limit)]
        for source in self._sources():
            rows += await source.log(limit)
        return sorted(rows, key=lambda row: row["at"] or 0.0, reverse=True)[:limit]

    async def undo(self, number: str) -> str:
        """Undo an entry of the log; return a sentence for the person. Raises ``HooklineError``."""
        name, _, last = number.rpartition(":")
        if not last.isdecimal() or len(last) > 15:
            raise InvalidOperation(
                f"{one_line(number, 40)!r} is not a number of `hookline memory log`"
            )
        if not name:
            source = ChangeSource(Chat(TERMINAL, "default"), "", "", "undo")
            undo_number = await self._changes.undo(int(last), source)
            return N_(f"Undone. To redo, run `hookline memory undo {undo_number}`.")
        other = next((source for source in self._sources() if source.name == name), None)
        if other is None:
            raise InvalidOperation(f"no enabled plugin {name} has a log")
        return await other.undo(int(last))

    def _sources(self) -> Sequence[LearnedSource]:
        return self._host.services.all(LearnedSource)

    async def _notes(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return a row for each note, with the turn of the same text in the log."""
        entries = await newest(self._host, MAX_SEARCHED_ENTRIES)
        known = {
            (change["file"], change["after"]): entry
            for entry in reversed(entries)
            for change in entry.changes
            if change["kind"] == "note" and change["after"] is not None
        }
        rows, problems = [], []
        for file, chat in self._note_paths.all():
            try:
                notes = file.read().notes
            except InvalidOperation as error:
                problems.append(str(error))
                continue
            for text in notes.entries:
                entry = known.get((file.name, text))
                row = {"kind": "note", "chat": _chat_label(chat), "text": text, "file": file.name}
                rows.append({**row, **(_source_columns(entry) if entry else _BY_HAND)})
        return rows, problems

    async def _fact_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": "fact",
                "chat": _chat_label(Chat(row["channel"], row["chat_id"])),
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


def _chat_label(chat: Chat | None) -> str:
    """Return ``CHANNEL:ID``; empty for the global notes."""
    return "" if chat is None else f"{chat.channel}:{chat.chat_id}"


def _source_columns(entry: LogEntry) -> dict[str, Any]:
    turn = {"turn": entry.turn, "turn_id": entry.turn_id}
    origins = {"origins": origins_to_json(entry.origins)}
    return {"at": entry.at, "session": entry.session_id, **turn, **origins}


def _entry_row(entry: LogEntry) -> dict[str, Any]:
    row = {"number": str(entry.number), "chat": _chat_label(entry.chat), **_source_columns(entry)}
    changes = [_change_row(change) for change in entry.changes]
    undo = {"undoes": entry.undoes, "undone_by": entry.undone_by}
    return row | {"origin": entry.origin, "changes": changes, **undo}


def _change_row(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change with its texts before and after."""
    if change["kind"] == "note":
        return dict(change)
    texts = {side: change[side] and change[side]["content"] for side in ("before", "after")}
    number = (change["before"] or change["after"])["id"]
    return {"kind": "fact", "op": change["op"], "id": number, **texts}
