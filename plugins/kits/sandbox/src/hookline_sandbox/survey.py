"""Finds the parts of a workspace that a sandboxed program may not see, or not change.

A folder is read again only after its modification time has changed, so that a survey costs one
``stat`` per folder.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .tables import tables
from .tracked import TrackedFiles

MOST_FOLDERS = 4_000
"""Maximum folders of a workspace that are searched, nearest first."""
DEEPEST = 8
"""Maximum levels below the workspace that are searched."""


_GIT_FOLDER = re.compile(r".*/[^/]*\.git(?:/modules/.+)?")
"""A repository's own folder: ``.git``, a bare repository, or a submodule's below ``modules``."""
_IN_GIT = re.compile(r".*\.git/(?:.+/)?(?:hooks|info/attributes|config\.worktree)")
_OBEYED_IN_GIT = frozenset({"config", "hooks", "config.worktree", "commondir"})
_SEARCHED_IN_GIT = frozenset({"info", "modules", "worktrees"})


@dataclass(frozen=True, slots=True)
class Findings:
    """Absolute paths in a workspace.

    hidden: may not be seen. frozen: read-only. pinned: folders that cannot be moved.
    compared: files of repositories that programs have to write, but not everything into: git's
    ``config``, and ``.git`` files. They are compared after each program. links: symbolic links with
    the name of a frozen file.
    """

    hidden: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


@dataclass(slots=True)
class _Folder:
    changed: int
    hidden: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    pinned: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
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
    """Searches one workspace. ``refused`` returns why file tools may not open a path, or None.

    repository: the folder with the workspace's repository if it is outside of the workspace.
    """

    def __init__(
        self, workspace: Path, refused: Callable[[str], str | None], repository: Path | None = None
    ) -> None:
        self._workspace = str(workspace)
        self._roots = [self._workspace, *([str(repository)] if repository else [])]
        self.refused = refused
        self._known: dict[str, _Folder] = {}
        self._hidden: set[str] = set()
        self._tracked = TrackedFiles()
        self._lock = threading.Lock()
        home = str(Path.home())
        self._sockets = home == self._workspace or home.startswith(
            self._workspace.rstrip("/") + "/"
        )

    def findings(self) -> Findings:
        """Search the workspace and return the findings; safe from several threads."""
        with self._lock:
            return self._findings()

    def _findings(self) -> Findings:
        folders = self._search()
        # A program may make thousands of folders, so that earlier findings are no longer reached.
        self._hidden = {path for path in self._hidden if os.path.lexists(path)}
        self._hidden.update(path for folder in folders for path in folder.hidden)
        frozen = [path for folder in folders for path in folder.frozen]
        hidden = self._without_tracked(frozen)
        pinned = {path for folder in folders for path in folder.pinned}
        pinned |= self._around([*hidden, *frozen])
        return Findings(
            tuple(sorted(hidden)),
            tuple(frozen),
            tuple(sorted(pinned)),
            tuple(path for folder in folders for path in folder.compared),
            tuple(path for folder in folders for path in folder.links),
        )

    def _search(self) -> list[_Folder]:
        seen: dict[str, _Folder] = {}
        level, depth = self._roots, 0
        while level and depth < DEEPEST and len(seen) < MOST_FOLDERS:
            following: list[str] = []
            for path in level[: MOST_FOLDERS - len(seen)]:
                folder = self._folder(path)
                if folder is not None:
                    seen[path] = folder
                    following += folder.inner
            level, depth = following, depth + 1
        self._known = seen
        return list(seen.values())

    def _without_tracked(self, frozen: list[str]) -> set[str]:
        """Return what to hide. A folder with tracked files is added to ``frozen`` instead, and
        only its other files are hidden."""
        tracked = self._tracked.among(sorted(self._hidden), self._workspace)
        hidden = self._hidden - tracked
        for folder in [path for path in hidden if any(t.startswith(path + "/") for t in tracked)]:
            hidden.discard(folder)
            hidden.update(_files(folder) - tracked)
            frozen.append(folder)
        return hidden

    def _around(self, paths: Iterable[str]) -> set[str]:
        """Return the searched folders that contain ``paths``; if moved, they might escape."""
        around: set[str] = set()
        for path in paths:
            root = next(r for r in self._roots if path.startswith(r.rstrip("/") + "/"))
            folder = os.path.dirname(path)  # noqa: PTH120
            while len(folder) > len(root) and folder not in around:
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
        entries = sorted(_entries(path), key=lambda entry: entry.name)
        if _is_git_folder(path, entries):
            self._read_git(folder, entries)
            return folder
        in_git = ".git/" in path
        for entry in entries:
            name, below = entry.name.lower(), entry.path.lower()
            is_frozen = name in names.frozen or below.endswith(names.frozen_below)
            is_frozen |= in_git and _IN_GIT.fullmatch(below) is not None
            if entry.is_symlink():  # its target is checked at its own path
                if is_frozen or name == ".git":
                    folder.links.append(entry.path)
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if self._is_hidden(entry, name, below, names):
                folder.hidden.append(entry.path)
            elif name == ".git" and not is_folder:
                folder.compared.append(entry.path)
            elif is_frozen:
                folder.frozen.append(entry.path)
            elif is_folder:
                if name in names.pinned:
                    folder.pinned.append(entry.path)
                if not inside or below.endswith(names.entered_below):
                    folder.inner.append(entry.path)
        return folder

    def _read_git(self, folder: _Folder, entries: Iterable[os.DirEntry[str]]) -> None:
        """Sort the entries of a repository's own folder; its objects and refs are not searched."""
        for entry in entries:
            name = entry.name.lower()
            if entry.is_symlink():
                if name in _OBEYED_IN_GIT:
                    folder.links.append(entry.path)
            elif self._is_refused(entry.path):
                folder.hidden.append(entry.path)
            elif name == "config":
                folder.compared.append(entry.path)
            elif name in _OBEYED_IN_GIT:
                folder.frozen.append(entry.path)
            elif name in _SEARCHED_IN_GIT:
                folder.inner.append(entry.path)

    def _is_hidden(self, entry: os.DirEntry[str], name: str, below: str, names: _Names) -> bool:
        if name in names.private or below.endswith(names.private_below):
            return True
        if self._sockets and stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
            return True
        return self._is_refused(entry.path)

    def _is_refused(self, path: str) -> bool:
        """Whether file tools may not open the path. They never open a repository outside."""
        outside = self._roots[1:]
        return not any(path.startswith(root) for root in outside) and bool(self.refused(path))


def _is_git_folder(path: str, entries: Iterable[os.DirEntry[str]]) -> bool:
    if ".git" not in path or not _GIT_FOLDER.fullmatch(path):
        return False
    return path.endswith("/.git") or any(entry.name == "HEAD" for entry in entries)


def _files(folder: str) -> set[str]:
    found = (os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)  # noqa: PTH118
    return {path for path in found if not os.path.islink(path)}  # noqa: PTH114


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(path) as found:
        yield from found
