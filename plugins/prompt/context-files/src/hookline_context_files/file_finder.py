"""Finds the project's files in the workspace, and a person's own files in the home folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from hookline_hookspecs import Session
from hookline_hookspecs.caching import Watch

from .document import Document
from .file_reader import FileReader, UnreadableFile, printable_name
from .imports import Imports

UPWARD_NAMES = (".hermes.md", "HERMES.md")
"""Project files that are searched in the workspace and above it, up to the root of its git tree."""
AGENTS_NAME = "AGENTS.md"
"""Project files of which all from the root of the git tree to the workspace are used."""
MAX_FOLDER_FILES = 50
"""Files of one folder that are read."""


@dataclass(slots=True)
class FileFinder:
    """Finds and reads one session's files. ``complaints`` are sentences about files that exist
    but were not used."""

    reader: FileReader
    complaints: list[str] = field(default_factory=list)

    def soul(self, home: Path) -> Document | None:
        """Return ``SOUL.md`` of the home folder."""
        self.reader.watch.look_at_folder(home)
        return self._try_read(self.reader.own, _real_path(home) / "SOUL.md", "SOUL.md")

    def project(self, workspace: Path) -> list[Document]:
        """Return the project's file or files: the first kind that exists and is not empty."""
        self.reader.watch.look_at_folder(workspace)  # a link on its path may change
        workspace = _real_path(workspace)
        for file, label in _upward(workspace, self.reader.watch):
            look = self.reader.guarded if file.parent == workspace else self.reader.own
            if found := self._try_read(look, file, label):
                return [found]
        if agents := self._agents_files(workspace):
            return agents
        if found := self._try_read(self.reader.guarded, workspace / "CLAUDE.md", "CLAUDE.md"):
            return [found]
        single = self._try_read(self.reader.guarded, workspace / ".cursorrules", ".cursorrules")
        rules = workspace / ".cursor" / "rules"
        return [*([single] if single else []), *self._folder(rules, ".mdc", ".cursor/rules/")]

    def _agents_files(self, workspace: Path) -> list[Document]:
        """Every ``AGENTS.md`` from the root of the git tree to the workspace, which comes last,
        each followed by the files that it imports."""
        parents = _parents_in_git(workspace, self.reader.watch)
        imports = Imports(parents[-1] if parents else workspace, self._read_import(workspace))
        found: list[Document] = []
        for depth, folder in reversed(list(enumerate((workspace, *parents)))):
            read = self.reader.guarded if depth == 0 else self.reader.own
            file = folder / AGENTS_NAME
            if imports.has(file):
                continue
            if document := self._try_read(read, file, "../" * depth + AGENTS_NAME):
                found += [document, *imports.of(file, document)]
        self.complaints += imports.complaints
        return found

    def _read_import(self, workspace: Path) -> Callable[[Path, str], Document | None]:
        def read(file: Path, label: str) -> Document | None:
            self.reader.watch.look(file)
            inside = file.is_relative_to(workspace)
            return (self.reader.guarded if inside else self.reader.own)(file, label)

        return read

    def personal_files(self, home: Path, session: Session) -> list[Document]:
        """Return the person's own files: the global ones, then those of the session's chat."""
        home = _real_path(home)
        agents = self._try_read(self.reader.own, home / AGENTS_NAME, f"{AGENTS_NAME} (yours)")
        found = [agents] if agents else []
        found += self._folder(home / "context", ".md", "context/")
        chat = chat_folder(home, session)
        if chat is not None:
            found += self._folder(chat / "context", ".md", "chat/")
        return found

    def _folder(self, folder: Path, ending: str, prefix: str) -> list[Document]:
        look = self.reader.guarded if ending == ".mdc" else self.reader.own
        try:
            names = self.reader.names(folder, ending)
        except UnreadableFile as error:
            self.complaints.append(str(error))
            return []
        if len(names) > MAX_FOLDER_FILES:
            self.complaints.append(
                f"Of the {len(names)} files in {prefix} the first {MAX_FOLDER_FILES} were used."
            )
        files = [
            self._try_read(look, folder / name, prefix + printable_name(name))
            for name in names[:MAX_FOLDER_FILES]
        ]
        return [file for file in files if file is not None]

    def _try_read(
        self, look: Callable[[Path, str], Document | None], file: Path, label: str
    ) -> Document | None:
        self.reader.watch.look(file)
        if not os.path.lexists(file):  # most do not exist, and this check is cheap
            return None
        try:
            return look(file, label)
        except UnreadableFile as error:
            self.complaints.append(str(error))
            return None


def chat_folder(home: Path, session: Session) -> Path | None:
    """Return ``chats/<channel>/<chat id>`` below the home; None for a session without a chat.

    The chat id is percent-encoded, so that it cannot lead to another folder.
    """
    chat = "default" if session.channel == "terminal" else session.chat_id
    if not session.channel or not chat:
        return None
    return _real_path(home) / "chats" / _encoded(session.channel) / _encoded(chat)


def _encoded(name: str) -> str:
    text = quote(name, safe="", errors="surrogatepass")
    return text.replace(".", "%2E") if text in (".", "..") else text


def _upward(workspace: Path, watch: Watch) -> Iterator[tuple[Path, str]]:
    """Yield the possible paths of :data:`UPWARD_NAMES` and their labels, nearest first."""
    above = ""
    for folder in (workspace, *_parents_in_git(workspace, watch)):
        for name in UPWARD_NAMES:
            yield folder / name, above + name
        above += "../"


def _parents_in_git(workspace: Path, watch: Watch) -> list[Path]:
    """Return the folders above the workspace that belong to its git tree.

    Empty if the tree's root belongs to another user, who could otherwise inject text into the
    prompt by creating a repository in a world-writable folder.
    """
    chain = [workspace, *workspace.parents]
    for depth, folder in enumerate(chain):
        watch.look_at_folder(folder)
        watch.look_at_folder(folder / ".git")
        if os.path.lexists(folder / ".git"):
            return chain[1 : depth + 1] if _same_owner(folder, workspace) else []
    return []


def _same_owner(folder: Path, other: Path) -> bool:
    try:
        return folder.stat().st_uid == other.stat().st_uid
    except OSError:
        return False


def _real_path(folder: Path) -> Path:
    return Path(os.path.realpath(folder))
