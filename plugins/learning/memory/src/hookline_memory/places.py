"""Finds the files of notes of a chat, and which of them it may change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.chat_files import Chat

from .notefile import NoteFile

FILE = "MEMORY.md"
GLOBAL = f"memories/{FILE}"


@dataclass(frozen=True, slots=True)
class Places:
    """The files of notes under ``home`` (CONTRACT, Files)."""

    home: Path

    @property
    def everywhere(self) -> NoteFile:
        """The global notes, which are also the terminal's own."""
        return self.named(GLOBAL)

    def own(self, chat: Chat) -> NoteFile | None:
        """The notes of one chat; None in the terminal, whose notes are the global ones."""
        if chat.channel == TERMINAL:
            return None
        return self.named(f"{chat.folder}/{FILE}")

    def seen(self, chat: Chat) -> list[NoteFile]:
        """The files that a chat's sessions see."""
        own = self.own(chat)
        return [self.everywhere] if own is None else [self.everywhere, own]

    def writable(self, chat: Chat, operator: bool) -> list[NoteFile]:
        """The files that may be changed from a chat; new notes go into the first."""
        own = self.own(chat)
        if own is None:
            return [self.everywhere]
        return [self.everywhere, own] if operator else [own]

    def named(self, name: str) -> NoteFile:
        """The file whose path under the home is ``name``."""
        return NoteFile(self.home / name, name)

    def all(self) -> Iterator[tuple[NoteFile, Chat | None]]:
        """Every existing file, with its chat; None for the global one."""
        if self.everywhere.path.exists():
            yield self.everywhere, None
        for path in sorted(self.home.glob(f"chats/*/*/{FILE}")):
            chat = Chat.at(path)
            if chat.channel != TERMINAL:
                yield self.named(path.relative_to(self.home).as_posix()), chat
