"""Prepares stored notes and facts for a model: every text passes ``pre_read`` first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from hookline_hookspecs import Context, Origin, Refused
from hookline_hookspecs.caching import FileCache, Watch

from .errors import InvalidOperation
from .note_file import NoteFile
from .notes import DELIMITER, Notes, entry_id
from .origins import author_note, note_key
from .text import count_of, format_usage, one_line

OriginsOf: TypeAlias = "Callable[[str], Awaitable[Mapping[str, Sequence[Origin]]]]"
"""Returns the origins of the notes of a file, given its name."""
MAX_REASON_CHARS = 160
"""Characters of the reason why an entry is blocked."""
MAX_LISTED_ENTRIES = 200
"""Entries that an error lists."""


class MemoryReader:
    """Reads notes and facts for a model.

    Args:
        limit: maximum characters of one file of notes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._cache: FileCache[NoteFile, Notes] = FileCache()

    async def entry(
        self, ctx: Context, number: int, text: str, source: str, kind: str = "note"
    ) -> str:
        """Return an entry as a model may see it; of a blocked one, its number and the reason."""
        try:
            return await ctx.read(text, source, kind)
        except Refused as error:
            why = one_line(str(error), MAX_REASON_CHARS)
            return (
                f"[Entry {number} is blocked: {why}. It stays stored until removed with "
                f'old_text="{entry_id(text)}".]'
            )

    async def fact(self, ctx: Context, text: str) -> str | None:
        """Return a fact as a model may see it; None if it is blocked."""
        try:
            return " ".join((await ctx.read(text, "memory", "fact")).split())
        except Refused as error:
            ctx.log.warning("a fact was blocked: %s", error)
            return None

    async def format_error(self, ctx: Context, error: InvalidOperation) -> str:
        """Return the text of an error with the entries it lists."""
        shown = error.entries[:MAX_LISTED_ENTRIES]
        lines = [
            f"{number}. {await self.entry(ctx, number, entry, 'memory')}"
            for number, entry in enumerate(shown, 1)
        ]
        more = len(error.entries) - len(shown)
        if more:
            lines.append(f"… and {count_of(more, 'other')}")
        return "\n".join([f"{error}:" if lines else f"{error}.", *lines])

    async def section(
        self, ctx: Context, file: NoteFile, heading: str, origins_of: OriginsOf
    ) -> str | None:
        """Return a file of notes with its usage for the prompt; None without notes.

        An entry that came from anyone but the operator is followed by who it was. Entries beyond
        the limit, which a person added by hand, are left out.

        Raises:
            UnreadableNotes: the file cannot be used.
        """
        notes = self._notes(file)
        if not notes.entries:
            return None
        origins = await origins_of(file.name)
        head = f"{heading} [{format_usage(notes.chars, self._limit)}]"
        shown = [
            await self.entry(ctx, number, entry, file.name)
            + _author_suffix(origins.get(note_key(entry), ()))
            for number, entry in enumerate(self._fitting(notes), 1)
        ]
        more = len(notes.entries) - len(shown)
        if more:
            shown.append(f"[{count_of(more, 'more note')} do not fit; merge or remove some.]")
        return f"{head}\n{DELIMITER.join(shown)}"

    def _notes(self, file: NoteFile) -> Notes:
        """Return the notes of a file from the cache, unless the file changed.

        Raises:
            UnreadableNotes: the file cannot be used.
        """
        notes = self._cache.get(file)
        if notes is None:
            watch = Watch()
            watch.look(file.path)
            notes = file.read().notes
            self._cache.put(file, notes, watch)
        return notes

    def _fitting(self, notes: Notes) -> Sequence[str]:
        fitting: list[str] = []
        chars_left = self._limit
        for entry in notes.entries:
            chars_left -= len(entry) + (len(DELIMITER) if fitting else 0)
            if chars_left < 0:
                break
            fitting.append(entry)
        if not fitting:
            fitting.append(f"{notes.entries[0][: self._limit]}…")
        return fitting


def _author_suffix(origins: Sequence[Origin]) -> str:
    author = author_note(origins)
    return f" [{author}]" if author else ""
