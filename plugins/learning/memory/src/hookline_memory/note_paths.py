"""Which files of notes a chat reads, and which it may change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.chat_files import Chat

from .note_file import NoteFile

NOTES_FILE = "MEMORY.md"
GLOBAL_NOTES = f"memories/{NOTES_FILE}"


@dataclass(frozen=True, slots=True)
class NotePaths:
    """The files of notes under ``home``."""

    home: Path

    @property
    def global_notes(self) -> NoteFile:
        """The global notes, which are also those of the terminal."""
        return self.file_named(GLOBAL_NOTES)

    def own(self, chat: Chat) -> NoteFile | None:
        """The notes of one chat; None for the terminal, whose notes are the global ones."""
        if chat.channel == TERMINAL:
            return None
        return self.file_named(f"{chat.folder}/{NOTES_FILE}")

    def readable(self, chat: Chat) -> list[NoteFile]:
        """The files in the prompt of a chat's sessions."""
        own = self.own(chat)
        return [self.global_notes] if own is None else [self.global_notes, own]

    def writable(self, chat: Chat, operator: bool) -> list[NoteFile]:
        """The files that may be changed from a chat; new notes go to the first."""
        own = self.own(chat)
        if own is None:
            return [self.global_notes]
        return [self.global_notes, own] if operator else [own]

    def file_named(self, name: str) -> NoteFile:
        """The file whose path relative to the home is ``name``."""
        return NoteFile(self.home / name, name)

    def all(self) -> Iterator[tuple[NoteFile, Chat | None]]:
        """All existing files with their chats; None for the global file."""
        if self.global_notes.path.exists():
            yield self.global_notes, None
        for path in sorted(self.home.glob(f"chats/*/*/{NOTES_FILE}")):
            chat = Chat.at(path)
            if chat.channel != TERMINAL:
                yield self.file_named(path.relative_to(self.home).as_posix()), chat
