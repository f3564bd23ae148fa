"""Finds the files: the project's in the workspace, a person's own below the home folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from hookline_hookspecs import Session
from hookline_hookspecs.caching import Watch

from .document import Document
from .opening import Opener, Unreadable, shown

UPWARD = (".hermes.md", "HERMES.md")
"""Project files that are also searched above the workspace, up to the root of its git tree."""
SINGLE = ("AGENTS.md", "CLAUDE.md")
"""Project files of the workspace itself; the first one found is used."""
MOST_FILES = 50
"""Files of one folder that are read."""


@dataclass(slots=True)
class Finder:
    """Finds and reads one session's files. ``complaints`` are sentences about files that exist and
    were not used."""

    opener: Opener
    complaints: list[str] = field(default_factory=list)

    def soul(self, home: Path) -> Document | None:
        """``SOUL.md`` of the home folder."""
        self.opener.watch.look_at_folder(home)
        return self._tried(self.opener.own, _real(home) / "SOUL.md", "SOUL.md")

    def project(self, workspace: Path) -> list[Document]:
        """Return the project's file or files: the first kind that exists and is not empty."""
        self.opener.watch.look_at_folder(workspace)  # a link to it may come to lead elsewhere
        workspace = _real(workspace)
        for file, label in _upward(workspace, self.opener.watch):
            look = self.opener.guarded if file.parent == workspace else self.opener.own
            if found := self._tried(look, file, label):
                return [found]
        for name in SINGLE:
            if found := self._tried(self.opener.guarded, workspace / name, name):
                return [found]
        single = self._tried(self.opener.guarded, workspace / ".cursorrules", ".cursorrules")
        rules = workspace / ".cursor" / "rules"
        return [*([single] if single else []), *self._folder(rules, ".mdc", ".cursor/rules/")]

    def kept(self, home: Path, session: Session) -> list[Document]:
        """Return the person's own files: the global ones, then those of the session's chat."""
        found = self._folder(_real(home) / "context", ".md", "context/")
        chat = chat_folder(home, session)
        if chat is not None:
            found += self._folder(chat / "context", ".md", "chat/")
        return found

    def _folder(self, folder: Path, ending: str, prefix: str) -> list[Document]:
        look = self.opener.guarded if ending == ".mdc" else self.opener.own
        try:
            names = self.opener.names(folder, ending)
        except Unreadable as error:
            self.complaints.append(str(error))
            return []
        if len(names) > MOST_FILES:
            self.complaints.append(
                f"Of the {len(names)} files in {prefix} the first {MOST_FILES} were used."
            )
        files = [
            self._tried(look, folder / name, prefix + shown(name)) for name in names[:MOST_FILES]
        ]
        return [file for file in files if file is not None]

    def _tried(
        self, look: Callable[[Path, str], Document | None], file: Path, label: str
    ) -> Document | None:
        self.opener.watch.look(file)
        if not os.path.lexists(file):  # most are not there, and a guarded look takes many
            return None
        try:
            return look(file, label)
        except Unreadable as error:
            self.complaints.append(str(error))
            return None


def chat_folder(home: Path, session: Session) -> Path | None:
    """``chats/<channel>/<chat id>`` below the home; None for a session that has no chat.

    The chat id is percent-encoded, so that none can name another folder.
    """
    chat = "default" if session.channel == "terminal" else session.chat_id
    if not session.channel or not chat:
        return None
    return _real(home) / "chats" / _encoded(session.channel) / _encoded(chat)


def _encoded(name: str) -> str:
    text = quote(name, safe="", errors="surrogatepass")
    return text.replace(".", "%2E") if text in (".", "..") else text


def _upward(workspace: Path, watch: Watch) -> Iterator[tuple[Path, str]]:
    """Yield where the files of :data:`UPWARD` may be, nearest first, with their labels."""
    above = ""
    for folder in (workspace, *_parents_in_git(workspace, watch)):
        for name in UPWARD:
            yield folder / name, above + name
        above += "../"


def _parents_in_git(workspace: Path, watch: Watch) -> list[Path]:
    """Return the folders above the workspace that belong to its git tree.

    None if the tree's root belongs to another user, who could otherwise inject text into the prompt
    by creating one in a world-writable folder.
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


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))
