"""A chat's ``USER.md``: validated when read, locked, replaced atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hookline_hookspecs.chat_files as chatfiles
from hookline_hookspecs.chat_files import Chat, TextFile

USER_FILE = "USER.md"
InvalidChange = chatfiles.FileProblem
"""A change is not possible; the text says why and what to do."""


def file_name(chat: Chat) -> str:
    """Return the path of a chat's file relative to the home."""
    return f"{chat.folder}/{USER_FILE}"


@dataclass(frozen=True, slots=True)
class UserFile:
    """The profile's file of one chat. Its methods raise ``FileProblem``."""

    home: Path
    chat: Chat

    @property
    def file(self) -> TextFile:
        """The file on disk."""
        return TextFile(self.home / file_name(self.chat), file_name(self.chat))

    def read(self) -> str:
        """Return the text with line ends ``\\n``; empty if there is no file."""
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
        """Lock the file against other processes; the lock file is in ``folder``."""
        with chatfiles.locked([self.file], folder):
            yield


def all_files(home: Path) -> Iterator[UserFile]:
    """Return the files of all profiles."""
    for path in sorted(home.glob(f"chats/*/*/{USER_FILE}")):
        yield UserFile(home, Chat.at(path))
