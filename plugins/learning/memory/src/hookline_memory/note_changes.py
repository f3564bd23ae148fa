"""Changes notes: a plan is made from the files' content, checked as a whole, then written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import AmbiguousMatch, InvalidOperation, NoMatch, NotesFull
from .note_file import NoteFile, NotesChanged, StoredNotes, locked, read_all
from .notes import Notes, chars_of, find_entries
from .operations import Operation
from .text import count_of, format_usage, one_line

MAX_ATTEMPTS = 5
"""Attempts if a file is edited by hand at the same time."""


@dataclass(slots=True)
class NotePlan:
    """The planned content of the files, and the changes for the log."""

    files: Sequence[NoteFile]
    before: Mapping[NoteFile, StoredNotes]
    entries: dict[NoteFile, list[str]]
    limit: int
    changes: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, files: Sequence[NoteFile], limit: int) -> NotePlan:
        """Return a plan without changes. Raises ``UnreadableNotes``."""
        before = read_all(files)
        return cls(files, before, {f: list(before[f].notes.entries) for f in files}, limit)

    def apply(self, operation: Operation) -> str:
        """Add, replace or remove an entry; return a sentence about it.

        Raises:
            InvalidOperation: it cannot be done.
        """
        if operation.action == "add":
            return self._add(operation.content)
        file, at = self._find_entry(operation.old_text)
        if operation.action == "remove" or operation.content in self._other_entries(file, at):
            self._change(file, "remove", at, None)
            return "Removed."
        if self.entries[file][at] != operation.content:
            self._change(file, "replace", at, operation.content)
        return "Replaced."

    def undo(self, change: Mapping[str, Any], by_name: Mapping[str, NoteFile]) -> None:
        """Revert one logged change. Raises ``InvalidOperation`` if the entry has changed since."""
        file = by_name[change["file"]]
        entries, before, after = self.entries[file], change["before"], change["after"]
        if (after is not None and after not in entries) or (before in entries):
            raise InvalidOperation(f"the entry in {file.name} was changed or removed since")
        if after is None:
            self._change(file, "add", min(change["index"], len(entries)), before)
        elif before is None:
            self._change(file, "remove", entries.index(after), None)
        else:
            self._change(file, "replace", entries.index(after), before)

    def check_room(self) -> None:
        """Raise ``NotesFull`` if a file has grown beyond its limit."""
        for file, entries in self.entries.items():
            chars = chars_of(entries)
            old = self.before[file].notes
            if chars > self.limit and chars > old.chars:
                raise NotesFull(
                    f"the notes would have {chars:,} characters; they have "
                    f"{format_usage(old.chars, self.limit)}. In one batch, merge or remove entries "
                    f"and add the new one, or remember it as a fact. The notes are",
                    old.entries,
                )

    def write(self) -> list[tuple[NoteFile, StoredNotes, Notes]]:
        """Write the changed files, all or none; return them for :func:`restore_files`.

        Raises:
            NotesChanged: a file was edited meanwhile.
            InvalidOperation: a file cannot be written.
        """
        written: list[tuple[NoteFile, StoredNotes, Notes]] = []
        try:
            for file, entries in self.entries.items():
                stored = self.before[file]
                if tuple(entries) != stored.notes.entries:
                    notes = stored.notes.having(entries)
                    file.write(notes, stored)
                    written.append((file, stored, notes))
        except BaseException:
            restore_files(written)
            raise
        return written

    def _add(self, content: str) -> str:
        if any(content in entries for entries in self.entries.values()):
            return "Already in the notes."
        file = self.files[0]
        self._change(file, "add", len(self.entries[file]), content)
        return "Added."

    def _find_entry(self, old_text: str) -> tuple[NoteFile, int]:
        """Return file and index of the one entry that matches; an equal entry is preferred."""
        all_entries = [entry for entries in self.entries.values() for entry in entries]
        found = [all_entries[n] for n in find_entries(all_entries, old_text)]
        if not found:
            raise NoMatch(f"no note contains {_quoted(old_text)}; the notes are", all_entries)
        if len(found) > 1:
            raise AmbiguousMatch(
                f"{count_of(len(found), 'note')} contain {_quoted(old_text)}; give more text", found
            )
        file = next(f for f, entries in self.entries.items() if found[0] in entries)
        return file, self.entries[file].index(found[0])

    def _other_entries(self, file: NoteFile, at: int) -> list[str]:
        """Return all entries of a file except one."""
        return [entry for n, entry in enumerate(self.entries[file]) if n != at]

    def _change(self, file: NoteFile, op: str, at: int, new: str | None) -> None:
        entries = self.entries[file]
        old = None if op == "add" else entries[at]
        entries[at : at + (op != "add")] = [] if new is None else [new]
        change = {"kind": "note", "op": op, "file": file.name, "index": at}
        self.changes.append({**change, "before": old, "after": new})


def _quoted(text: str) -> str:
    return f"`{one_line(text, 60)}`"


def restore_files(written: Sequence[tuple[NoteFile, StoredNotes, Notes]]) -> None:
    """Restore written files to their earlier content."""
    for file, stored, notes in written:
        file.restore(stored, notes)


@dataclass(frozen=True, slots=True)
class WrittenNotes:
    """The result of a plan; ``first`` are the notes of the first file."""

    sentences: Sequence[str]
    changes: Sequence[Mapping[str, Any]]
    files: Sequence[tuple[NoteFile, StoredNotes, Notes]]
    first: Notes


def change_notes(
    files: Sequence[NoteFile], operations: Sequence[Operation], limit: int, locks: Path
) -> WrittenNotes:
    """Do all ``operations`` or none. Blocks: reads, locks and writes files.

    Raises:
        InvalidOperation: an entry is missing or ambiguous, the notes are full, or a file cannot
            be used.
    """
    with locked(files, locks):
        for _attempt in range(MAX_ATTEMPTS):
            plan = NotePlan.of(files, limit)
            sentences = [plan.apply(operation) for operation in operations]
            plan.check_room()
            try:
                written = plan.write()
            except NotesChanged:
                continue
            first = Notes(tuple(plan.entries[files[0]]))
            return WrittenNotes(sentences, plan.changes, written, first)
    raise InvalidOperation("another program is writing the notes; try again")


def undo_notes(
    files: Sequence[NoteFile], changes: Sequence[Mapping[str, Any]], limit: int, locks: Path
) -> WrittenNotes:
    """Revert logged changes, last first, all or none; otherwise like :func:`change_notes`."""
    by_name = {file.name: file for file in files}
    with locked(files, locks):
        plan = NotePlan.of(files, limit)
        for change in reversed(changes):
            plan.undo(change, by_name)
        plan.check_room()
        try:
            written = plan.write()
        except NotesChanged:
            raise InvalidOperation("another program is writing the notes; try again") from None
        return WrittenNotes((), plan.changes, written, Notes())
