"""Finds the parts of a workspace that a sandboxed program may not see, or not change.

A folder is read again only after its modification time has changed, so that a survey costs one
``stat`` per folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .tables import tables

MOST_FOLDERS = 4_000
"""Maximum folders of a workspace that are searched, nearest first."""
DEEPEST = 8
"""Maximum levels below the workspace that are searched."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Absolute paths: ``hidden`` ones, ``frozen`` (read-only) and ``pinned`` (cannot be moved)."""

    hidden: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()


@dataclass(slots=True)
class _Folder:
    changed: int
    hidden: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    pinned: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Names:
    """The lists of ``sandbox.yaml`` as sets of names and endings, in lower case."""

    private: frozenset[str]
    private_below: tuple[str, ...]
    frozen: frozenset[str]
    frozen_below: tuple[str, ...]
    pinned: frozenset[str]
    skipped: frozenset[str]
    entered_below: tuple[str, ...]


@cache
def _names() -> _Names:
    known = {name: [entry.lower() for entry in entries] for name, entries in tables().items()}
    return _Names(
        frozenset(known["private"]),
        tuple("/" + entry for entry in known["private_below"]),
        frozenset(known["frozen"]),
        tuple("/" + entry for entry in known["frozen_below"]),
        frozenset(known["pinned"]),
        frozenset(known["skipped"]),
        tuple("/" + entry for entry in known["entered_below"]),
    )


class Survey:
    """Searches one workspace. ``refused`` returns why file tools may not open a path, or None."""

    def __init__(self, workspace: Path, refused: Callable[[str], str | None]) -> None:
        self._workspace = str(workspace)
        self.refused = refused
        self._known: dict[str, _Folder] = {}
        self._hidden: set[str] = set()
        home = str(Path.home())
        self._sockets = home == self._workspace or home.startswith(
            self._workspace.rstrip("/") + "/"
        )

    def findings(self) -> Findings:
        """Search the workspace and return the findings."""
        seen: dict[str, _Folder] = {}
        hidden: list[str] = []
        frozen: list[str] = []
        pinned: list[str] = []
        level, depth = [self._workspace], 0
        while level and depth < DEEPEST and len(seen) < MOST_FOLDERS:
            following: list[str] = []
            for path in level[: MOST_FOLDERS - len(seen)]:
                folder = self._folder(path)
                if folder is None:
                    continue
                seen[path] = folder
                hidden += folder.hidden
                frozen += folder.frozen
                pinned += folder.pinned
                following += folder.inner
            level, depth = following, depth + 1
        self._known = seen
        # A program may make thousands of folders, so that earlier findings are no longer reached.
        gone = {path for path in self._hidden.difference(hidden) if not os.path.lexists(path)}
        self._hidden = self._hidden.union(hidden) - gone
        pinned += self._around([*self._hidden, *frozen])
        return Findings(tuple(sorted(self._hidden)), tuple(frozen), tuple(sorted(set(pinned))))

    def _around(self, paths: Iterable[str]) -> set[str]:
        """Return the workspace's folders that contain ``paths``; if moved, they might escape."""
        around: set[str] = set()
        for path in paths:
            folder = os.path.dirname(path)  # noqa: PTH120
            while len(folder) > len(self._workspace) and folder not in around:
                around.add(folder)
                folder = os.path.dirname(folder)  # noqa: PTH120
        return around

    def _folder(self, path: str) -> _Folder | None:
        try:
            changed = os.stat(path, follow_symlinks=False).st_mtime_ns  # noqa: PTH116
            known = self._known.get(path)
            if known is not None and known.changed == changed:
                return known
            return self._read(path, changed)
        except OSError:
            return None

    def _read(self, path: str, changed: int) -> _Folder:
        folder, names = _Folder(changed), _names()
        inside = path != self._workspace and Path(path).name.lower() in names.skipped
        for entry in sorted(_entries(path), key=lambda entry: entry.name):
            if entry.is_symlink():
                continue  # its target is checked at its own path
            name, below = entry.name.lower(), entry.path.lower()
            if self._is_hidden(entry, name, below, names):
                folder.hidden.append(entry.path)
            elif name in names.frozen or below.endswith(names.frozen_below):
                folder.frozen.append(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                if name in names.pinned:
                    folder.pinned.append(entry.path)
                if not inside or below.endswith(names.entered_below):
                    folder.inner.append(entry.path)
        return folder

    def _is_hidden(self, entry: os.DirEntry[str], name: str, below: str, names: _Names) -> bool:
        if name in names.private or below.endswith(names.private_below):
            return True
        if self._sockets and stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
            return True
        return self.refused(entry.path) is not None


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(path) as found:
        yield from found
