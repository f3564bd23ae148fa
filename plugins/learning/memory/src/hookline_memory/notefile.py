"""A file of notes: validated when read, locked, replaced atomically.

Other processes of Hookline wait for the lock; a person's editor does not, so the file is read again
right before it is replaced. If the parser could not write a person's text back unchanged, the file
is first copied to ``MEMORY.md.bak``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hookline_hookspecs.chat_files as chatfiles
from hookline_hookspecs.chat_files import FileProblem, TextFile

from .notes import Notes, keeps_all, parse
from .wording import Complaint


class Unreadable(Complaint):
    """A file that exists and cannot be used; the text says which, why and what to do."""


class ChangedMeanwhile(Exception):
    """The file was changed between reading and writing; the new content counts."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as it was read: its bytes (None if there is none) and the notes in them."""

    data: bytes | None
    notes: Notes


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file of notes; ``name`` is its path under the home, with ``/``."""

    path: Path
    name: str

    @property
    def _file(self) -> TextFile:
        return TextFile(self.path, self.name)

    def read(self) -> Stored:
        """Return what is on disk; no notes if there is no file.

        Raises:
            Unreadable: not a regular file, no permission, too large, or not UTF-8.
        """
        try:
            data = self._file.read()
            return Stored(data, Notes() if data is None else parse(self._file.decoded(data)))
        except FileProblem as problem:
            raise Unreadable(str(problem)) from None

    def write(self, notes: Notes, read: Stored) -> None:
        """Replace what was ``read`` by ``notes``; the caller holds the lock.

        Raises:
            ChangedMeanwhile: the file is not as it was read; nothing was written.
            Complaint: it cannot be written; the old file is intact.
        """
        file = self._file
        try:
            if read.data is not None and not keeps_all(read.data.decode("utf-8")):
                beside = file.real.with_name(file.real.name + ".bak")
                TextFile(beside, f"{self.name}.bak").write(read.data)
            if file.read() != read.data:
                raise ChangedMeanwhile
            file.write(notes.render().encode("utf-8"))
        except FileProblem as problem:
            raise Complaint(str(problem)) from problem

    def restore(self, stored: Stored, written: Notes) -> None:
        """Restore the content before ``written``, unless the file was changed since."""
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
    """Lock ``files`` among processes; the lock files are in ``folder``. Raises ``Complaint`` if
    another process holds one for too long.
    """
    with contextlib.ExitStack() as stack:
        try:
            plain = [TextFile(file.path, file.name) for file in files]
            stack.enter_context(chatfiles.locked(plain, folder))
        except FileProblem as problem:
            raise Complaint(str(problem)) from None
        yield


def read_all(files: Sequence[NoteFile]) -> Mapping[NoteFile, Stored]:
    """Every file as it is now. Raises ``Unreadable``."""
    return {file: file.read() for file in files}
