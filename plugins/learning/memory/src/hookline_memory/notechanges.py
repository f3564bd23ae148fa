"""Changes notes: a plan is made from the files' content, checked at the end, then written at
once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .notefile import ChangedMeanwhile, NoteFile, Stored, locked, read_all
from .notes import Notes, chars_of, matching
from .operations import Operation
from .wording import Complaint, Missing, Several, counted, one_line, used

ATTEMPTS = 5
"""How many times a plan is made again because the file was edited by hand meanwhile."""


class Full(Complaint):
    """The notes would not fit; nothing was changed."""


@dataclass(slots=True)
class Plan:
    """What the files will hold, and the changes that lead there, for the log."""

    files: Sequence[NoteFile]
    before: Mapping[NoteFile, Stored]
    entries: dict[NoteFile, list[str]]
    limit: int
    changes: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, files: Sequence[NoteFile], limit: int) -> Plan:
        """A plan without changes. Raises ``Unreadable``."""
        before = read_all(files)
        return cls(files, before, {f: list(before[f].notes.entries) for f in files}, limit)

    def apply(self, operation: Operation) -> str:
        """Add, replace or remove an entry; return a sentence about it. Raises ``Complaint``."""
        if operation.action == "add":
            return self._add(operation.content)
        file, at = self._one(operation.old_text)
        if operation.action == "remove" or operation.content in self._others(file, at):
            self._change(file, "remove", at, None)
            return "Removed."
        if self.entries[file][at] != operation.content:
            self._change(file, "replace", at, operation.content)
        return "Replaced."

    def undo(self, change: Mapping[str, Any], by_name: Mapping[str, NoteFile]) -> None:
        """Revert one logged change. Raises ``Complaint`` if the entry has changed since."""
        file = by_name[change["file"]]
        entries, before, after = self.entries[file], change["before"], change["after"]
        if (after is not None and after not in entries) or (before in entries):
            raise Complaint(f"the entry in {file.name} has changed since, or is gone")
        if after is None:
            self._change(file, "add", min(change["index"], len(entries)), before)
        elif before is None:
            self._change(file, "remove", entries.index(after), None)
        else:
            self._change(file, "replace", entries.index(after), before)

    def check_room(self) -> None:
        """Raise ``Full`` if a file has grown beyond its limit."""
        for file, entries in self.entries.items():
            chars, old = chars_of(entries), self.before[file].notes
            if chars > self.limit and chars > old.chars:
                raise Full(
                    f"the notes would have {chars:,} characters; they have "
                    f"{used(old.chars, self.limit)}. In one batch, merge or remove entries and "
                    f"add the new one, or remember it as a fact. The notes are",
                    old.entries,
                )

    def write(self) -> list[tuple[NoteFile, Stored, Notes]]:
        """Write the files that differ, all or none. Returns what was written, for
        :func:`take_back`. Raises ``ChangedMeanwhile``, ``Complaint``.
        """
        written: list[tuple[NoteFile, Stored, Notes]] = []
        try:
            for file, entries in self.entries.items():
                stored = self.before[file]
                if tuple(entries) != stored.notes.entries:
                    notes = stored.notes.having(entries)
                    file.write(notes, stored)
                    written.append((file, stored, notes))
        except BaseException:
            take_back(written)
            raise
        return written

    def _add(self, content: str) -> str:
        if any(content in entries for entries in self.entries.values()):
            return "It is in the notes already."
        file = self.files[0]
        self._change(file, "add", len(self.entries[file]), content)
        return "Added."

    def _one(self, wanted: str) -> tuple[NoteFile, int]:
        """Return the one entry that matches ``wanted``; an equal one in any file is preferred."""
        everything = [entry for entries in self.entries.values() for entry in entries]
        found = [everything[n] for n in matching(everything, wanted)]
        if not found:
            raise Missing(f"no note holds {_quoted(wanted)}; the notes are", everything)
        if len(found) > 1:
            raise Several(
                f"{counted(len(found), 'note')} hold {_quoted(wanted)}; give more of it", found
            )
        file = next(f for f, entries in self.entries.items() if found[0] in entries)
        return file, self.entries[file].index(found[0])

    def _others(self, file: NoteFile, at: int) -> list[str]:
        """Return the entries of a file except one."""
        return [entry for n, entry in enumerate(self.entries[file]) if n != at]

    def _change(self, file: NoteFile, op: str, at: int, new: str | None) -> None:
        entries = self.entries[file]
        old = None if op == "add" else entries[at]
        entries[at : at + (op != "add")] = [] if new is None else [new]
        change = {"kind": "note", "op": op, "file": file.name, "index": at}
        self.changes.append({**change, "before": old, "after": new})


def _quoted(text: str) -> str:
    return f"`{one_line(text, 60)}`"


def take_back(written: Sequence[tuple[NoteFile, Stored, Notes]]) -> None:
    """Put files back as they were before they were written."""
    for file, stored, notes in written:
        file.restore(stored, notes)


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a plan."""

    sentences: Sequence[str]
    changes: Sequence[Mapping[str, Any]]
    files: Sequence[tuple[NoteFile, Stored, Notes]]
    first: Notes


def change_notes(
    files: Sequence[NoteFile], operations: Sequence[Operation], limit: int, locks: Path
) -> Written:
    """Do all ``operations`` or none. Blocks: reads, locks and writes files.

    Raises:
        Complaint: an entry is not there or not clear, the notes are full, a file cannot be used.
    """
    with locked(files, locks):
        for _attempt in range(ATTEMPTS):
            plan = Plan.of(files, limit)
            sentences = [plan.apply(operation) for operation in operations]
            plan.check_room()
            try:
                written = plan.write()
            except ChangedMeanwhile:
                continue
            first = Notes(tuple(plan.entries[files[0]]))
            return Written(sentences, plan.changes, written, first)
    raise Complaint("the notes are being written by another program; try again")


def undo_notes(
    files: Sequence[NoteFile], changes: Sequence[Mapping[str, Any]], limit: int, locks: Path
) -> Written:
    """Revert logged changes, the last first, all or none; otherwise as :func:`change_notes`."""
    by_name = {file.name: file for file in files}
    with locked(files, locks):
        plan = Plan.of(files, limit)
        for change in reversed(changes):
            plan.undo(change, by_name)
        plan.check_room()
        try:
            written = plan.write()
        except ChangedMeanwhile:
            raise Complaint("the notes are being written by another program; try again") from None
        return Written((), plan.changes, written, Notes())
