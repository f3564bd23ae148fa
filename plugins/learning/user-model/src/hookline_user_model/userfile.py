"""A chat's ``USER.md``: validated when read, locked, replaced atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hookline_hookspecs.chat_files as chatfiles
from hookline_hookspecs.chat_files import Chat, TextFile

FILE = "USER.md"
Complaint = chatfiles.FileProblem
"""An error that a person can act on."""


def name_of(chat: Chat) -> str:
    """The path of a chat's file under the home (CONTRACT, Files)."""
    return f"{chat.folder}/{FILE}"


@dataclass(frozen=True, slots=True)
class UserFile:
    """The portrait's file of one chat. Its methods raise ``FileProblem``."""

    home: Path
    chat: Chat

    @property
    def file(self) -> TextFile:
        """It on disk."""
        return TextFile(self.home / name_of(self.chat), name_of(self.chat))

    def read(self) -> str:
        """What is on disk, lines ending in ``\\n``; no file is an empty text."""
        data = self.file.read()
        if data is None:
            return ""
        text = self.file.decoded(data).removeprefix("\ufeff").replace("\0", "")
        return text.replace("\r\n", "\n").replace("\r", "\n").strip()

    def write(self, text: str) -> None:
        """Replace the file atomically; the caller holds the lock."""
        self.file.write(f"{text}\n".encode() if text else b"")

    @contextmanager
    def locked(self, folder: Path) -> Iterator[None]:
        """Lock the file among processes; the lock file is in ``folder``."""
        with chatfiles.locked([self.file], folder):
            yield


def all_files(home: Path) -> Iterator[UserFile]:
    """Return every existing portrait."""
    for path in sorted(home.glob(f"chats/*/*/{FILE}")):
        yield UserFile(home, Chat.at(path))
