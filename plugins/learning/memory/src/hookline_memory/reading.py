"""Passes stored text through the gate ``pre_read`` before a model reads it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from hookline_hookspecs import Context, Origin, Refused
from hookline_hookspecs.caching import FileCache, Watch

from .notefile import NoteFile
from .notes import DELIMITER, Notes, mark_of
from .origins import author, note_key
from .wording import Complaint, counted, one_line, used

OriginsOf: TypeAlias = "Callable[[str], Awaitable[Mapping[str, Sequence[Origin]]]]"
"""The origins of the notes of a file, by its name."""
REASON = 160
"""Characters shown of the reason why an entry is blocked."""
LISTED_ENTRIES = 200
"""Entries that a complaint shows at most."""


class Reader:
    """Reads notes and facts for a model."""

    def __init__(self, limit: int) -> None:
        """``limit``: characters of one file of notes."""
        self._limit = limit
        self._known: FileCache[NoteFile, Notes] = FileCache()

    async def entry(
        self, ctx: Context, number: int, text: str, source: str, kind: str = "note"
    ) -> str:
        """Return an entry as a model may see it; of a blocked one, only its number and the
        reason."""
        try:
            return await ctx.read(text, source, kind)
        except Refused as error:
            why = one_line(str(error), REASON)
            return (
                f"[Entry {number} is blocked: {why}. It stays stored until it is removed with "
                f'old_text="{mark_of(text)}".]'
            )

    async def fact(self, ctx: Context, text: str) -> str | None:
        """Return a fact as a model may see it; None if it is blocked."""
        try:
            return " ".join((await ctx.read(text, "memory", "fact")).split())
        except Refused as error:
            ctx.log.warning("a fact is kept from the model: %s", error)
            return None

    async def complaint(self, ctx: Context, error: Complaint) -> str:
        """Return the sentence, with its entries."""
        shown = error.entries[:LISTED_ENTRIES]
        lines = [
            f"{number}. {await self.entry(ctx, number, entry, 'memory')}"
            for number, entry in enumerate(shown, 1)
        ]
        more = len(error.entries) - len(shown)
        if more:
            lines.append(f"… and {counted(more, 'other')}")
        return "\n".join([f"{error}:" if lines else f"{error}.", *lines])

    async def section(
        self, ctx: Context, file: NoteFile, heading: str, origins_of: OriginsOf
    ) -> str | None:
        """Return a file of notes with its usage, for the prompt; None if there are none.

        An entry that others than the operator taught is followed by who they are, by the origins
        of the file's notes (see :func:`.origins.of_notes`). Entries beyond the limit, in a file
        that was extended by hand, are left out. Raises ``Unreadable``.
        """
        notes = self._notes(file)
        if not notes.entries:
            return None
        origins = await origins_of(file.name)
        head = f"{heading} [{used(notes.chars, self._limit)}]"
        shown = [
            await self.entry(ctx, number, entry, file.name) + _by(origins.get(note_key(entry), ()))
            for number, entry in enumerate(self._fitting(notes), 1)
        ]
        more = len(notes.entries) - len(shown)
        if more:
            shown.append(f"[{counted(more, 'more note')} do not fit; merge or remove some.]")
        return f"{head}\n{DELIMITER.join(shown)}"

    def _notes(self, file: NoteFile) -> Notes:
        """The notes of a file, read again if it has changed. Raises ``Unreadable``."""
        known = self._known.get(file)
        if known is None:
            watch = Watch()
            watch.look(file.path)
            known = file.read().notes
            self._known.put(file, known, watch)
        return known

    def _fitting(self, notes: Notes) -> Sequence[str]:
        fitting: list[str] = []
        room = self._limit
        for entry in notes.entries:
            room -= len(entry) + (len(DELIMITER) if fitting else 0)
            if room < 0:
                break
            fitting.append(entry)
        if not fitting:
            fitting.append(f"{notes.entries[0][: self._limit]}…")
        return fitting


def _by(origins: Sequence[Origin]) -> str:
    who = author(origins)
    return f" [{who}]" if who else ""
