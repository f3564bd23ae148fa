"""A file of notes: validated when read, locked, replaced atomically.

Other Hookline processes wait for the lock, but a person's editor does not, so the file is read
again right before it is replaced. A file whose text would not be written back unchanged is first
copied to ``MEMORY.md.bak``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hookline_hookspecs.chat_files as chatfiles
from hookline_hookspecs.chat_files import FileProblem, TextFile

from .errors import InvalidOperation
from .notes import Notes, keeps_all, parse


class UnreadableNotes(InvalidOperation):
    """A file exists but cannot be used; the text says which, why and what to do."""


class NotesChanged(Exception):
    """The file was changed between reading and writing."""


@dataclass(frozen=True, slots=True)
class StoredNotes:
    """A file as it was read: its bytes (None if it does not exist) and its notes."""

    data: bytes | None
    notes: Notes


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file of notes; ``name`` is its path relative to the home, with ``/``."""

    path: Path
    name: str

    @property
    def _file(self) -> TextFile:
        return TextFile(self.path, self.name)

    def read(self) -> StoredNotes:
        """Read the file; a missing one has no notes.

        Raises:
            UnreadableNotes: it is not a regular file, not permitted, too large, or not UTF-8.
        """
        try:
            data = self._file.read()
            return StoredNotes(data, Notes() if data is None else parse(self._file.decoded(data)))
        except FileProblem as problem:
            raise UnreadableNotes(str(problem)) from None

    def write(self, notes: Notes, read: StoredNotes) -> None:
        """Replace the content ``read`` by ``notes``; the caller holds the lock.

        Raises:
            NotesChanged: the file was changed since it was read; nothing was written.
            InvalidOperation: it cannot be written; the old file is intact.
        """
        file = self._file
        try:
            if read.data is not None and not keeps_all(read.data.decode("utf-8")):
                backup = file.real.with_name(file.real.name + ".bak")
                TextFile(backup, f"{self.name}.bak").write(read.data)
            if file.read() != read.data:
                raise NotesChanged
            file.write(notes.render().encode("utf-8"))
        except FileProblem as problem:
            raise InvalidOperation(str(problem)) from problem

    def restore(self, stored: StoredNotes, written: Notes) -> None:
        """Restore the content before ``written`` was written, unless the file changed since."""
        file = self._file
        with contextlib.suppress(OSError, FileProblem):
            if file.read() != written.render().encode("utf-8"):
                return
            if stored.data is None:
                file.real.unlink()
            else:
                file.write(stored.data)


@contextmanager
def locked(files: Sequence[NoteFile], folder: Path) -> Iterator[None]:
    """Lock ``files`` against other processes; the lock files are in ``folder``.

    Raises:
        InvalidOperation: another process holds a lock for too long.
    """
    with contextlib.ExitStack() as stack:
        try:
            plain = [TextFile(file.path, file.name) for file in files]
            stack.enter_context(chatfiles.locked(plain, folder))
        except FileProblem as problem:
            raise InvalidOperation(str(problem)) from None
        yield


def read_all(files: Sequence[NoteFile]) -> Mapping[NoteFile, StoredNotes]:
    """Read every file. Raises ``UnreadableNotes``."""
    return {file: file.read() for file in files}
