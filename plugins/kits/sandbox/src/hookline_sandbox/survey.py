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
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from .tables import tables
from .tracked_files import TrackedFiles

MOST_FOLDERS = 4_000
"""Maximum folders of a workspace that are searched at first, nearest first."""
MOST_NEW_FOLDERS = 20_000
"""Maximum folders that are searched in addition, because programs made them later."""
MOST_LINKED = 1_000
"""Maximum entries of a folder that a link leads to, whose names are looked at."""
DEEPEST = 16
"""Maximum levels below the workspace that are searched."""


_GIT_FOLDER = re.compile(r".*/[^/]*\.git(?:/modules/.+)?")
"""A repository's own folder: ``.git``, a bare repository, or a submodule's below ``modules``."""
_IN_GIT = re.compile(r".*\.git/(?:.+/)?(?:hooks|info/attributes|config\.worktree)")
_COMMON_FOLDER = re.compile(r".*/[^/]*\.git/(?:.+/)?worktrees/[^/]+/commondir")
"""Names the repository of a linked worktree (gitrepository-layout(5))."""
_OBEYED_IN_GIT = frozenset({"config", "hooks", "config.worktree", "commondir"})
_SEARCHED_IN_GIT = frozenset({"info", "modules", "worktrees"})


@dataclass(frozen=True, slots=True)
class Findings:
    """Absolute paths in a workspace.

    hidden: may not be seen. frozen: read-only. pinned: folders that cannot be moved. protected:
    those of the first two that a program may not make, because other programs follow them.
    compared: files of repositories that programs have to write, but not everything into: git's
    ``config`` and ``commondir``, and ``.git`` files. They are compared after each program. links:
    symbolic links with the name of a protected file, or to a folder that then contains one.
    """

    hidden: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()


_Stamp = tuple[int, int, int]


@dataclass(slots=True)
class _Folder:
    """What one folder contains. ``changed`` is its state when it was read; ``has_links`` to other
    folders, whose content can change without it."""

    changed: _Stamp
    has_links: bool = False
    hidden: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    pinned: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    protected: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Names:
    """The lists of ``sandbox.yaml`` as sets of names and endings, in lower case."""

    private: frozenset[str]
    private_below: tuple[str, ...]
    pinned: frozenset[str]
    skipped: frozenset[str]
    entered_below: tuple[str, ...]


@cache
def _names() -> _Names:
    known = {name: [entry.lower() for entry in entries] for name, entries in tables().items()}
    return _Names(
        frozenset(known["private"]),
        tuple("/" + entry for entry in known["private_below"]),
        frozenset(known["pinned"]),
        frozenset(known["skipped"]),
        tuple("/" + entry for entry in known["entered_below"]),
    )


class Survey:
    """Searches one workspace.

    refused: returns why file tools may not open a path, or None. protection: returns why a program
    may not make or change a path, or None; it looks only at names.
    repository: the folder with the workspace's repository if it is outside of the workspace.
    """

    def __init__(
        self,
        workspace: Path,
        refused: Callable[[str], str | None],
        protection: Callable[[str], str | None],
        repository: Path | None = None,
    ) -> None:
        self._workspace = str(workspace)
        self._roots = [self._workspace, *([str(repository)] if repository else [])]
        self.refused, self.protection = refused, protection
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
            tuple(path for folder in folders for path in folder.protected),
        )

    def _search(self) -> list[_Folder]:
        """Search folder by folder. Those that are known come first: new ones cannot hide them."""
        seen: dict[str, _Folder] = {}
        limit = len(self._known) + MOST_NEW_FOLDERS if self._known else MOST_FOLDERS
        level, depth = self._roots, 0
        while level and depth < DEEPEST and len(seen) < limit:
            following: list[str] = []
            level.sort(key=lambda path: path not in self._known)
            for path in level[: limit - len(seen)]:
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
            state = os.stat(path, follow_symlinks=False)  # noqa: PTH116
            # A program can set the modification time, and put another folder in its place.
            changed = (state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
            known = self._known.get(path)
            if known is not None and known.changed == changed and not known.has_links:
                return known
            return self._read(path, changed)
        except OSError:
            return None

    def _read(self, path: str, changed: _Stamp) -> _Folder:
        folder, names = _Folder(changed), _names()
        inside = path != self._workspace and Path(path).name.lower() in names.skipped
        entries = sorted(_entries(path), key=lambda entry: entry.name)
        if _is_git_folder(path, entries):
            self._read_git(folder, entries)
            return folder
        is_inner = path not in self._roots and self._is_protected(path)
        for entry in entries:
            name, below = entry.name.lower(), entry.path.lower()
            is_protected = not is_inner and self._is_protected(entry.path)
            if entry.is_symlink():  # its target is checked at its own path
                leads_to_folder = entry.is_dir()
                folder.has_links |= leads_to_folder
                if is_protected or name == ".git" or (leads_to_folder and self._leads(entry.path)):
                    folder.links.append(entry.path)
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_protected:
                folder.protected.append(entry.path)
            if self._is_hidden(entry, name, below, names):
                folder.hidden.append(entry.path)
            elif (name == ".git" and not is_folder) or _COMMON_FOLDER.fullmatch(below):
                folder.compared.append(entry.path)
            elif is_protected:
                folder.frozen.append(entry.path)
                if is_folder:  # something in it may have to be hidden
                    folder.inner.append(entry.path)
            elif is_folder:
                if name in names.pinned:
                    folder.pinned.append(entry.path)
                if not inside or below.endswith(names.entered_below):
                    folder.inner.append(entry.path)
        return folder

    def _is_protected(self, path: str) -> bool:
        """Whether a program may not make the path; of a repository's own files only some."""
        if _IN_GIT.fullmatch(path.lower()):
            return True
        is_git = "/.git/" in path or path.endswith("/.git")
        return not is_git and self.protection(path) is not None

    def _leads(self, link: str) -> bool:
        """Whether a link to a folder gives protected names to files that had others."""
        target, looked_at = os.path.realpath(link), 0
        for top, folders, names in os.walk(target):
            below = os.path.relpath(top, target)
            for name in (*folders, *names):
                looked_at += 1
                path = os.path.normpath(f"{below}/{name}")
                is_new = not self._is_protected(f"{target}/{path}")
                if is_new and self._is_protected(f"{link}/{path}"):
                    return True
                if looked_at > MOST_LINKED:
                    return False
            if below != ".":
                folders.clear()
        return False

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
                folder.protected.append(entry.path)
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
    """Whether git takes a folder for a repository's own, whatever its name is."""
    names = {entry.name for entry in entries}
    if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names):
        return True
    if ".git" not in path or not _GIT_FOLDER.fullmatch(path):
        return False
    return path.endswith("/.git") or "HEAD" in names


def with_shown(findings: Findings, shown: Iterable[Path | str]) -> Findings:
    """Return findings in which ``shown`` are read-only, where they are in a folder that is hidden.

    The other files of that folder stay hidden.
    """
    hidden, frozen = set(findings.hidden), list(findings.frozen)
    for folder in findings.hidden:
        inside = [path for path in shown if Path(path).is_relative_to(folder)]
        if inside:
            hidden.discard(folder)
            hidden.update(
                path
                for path in _files(folder)
                if not any(Path(path).is_relative_to(one) for one in inside)
            )
            frozen.append(folder)
    if len(frozen) == len(findings.frozen):
        return findings
    return replace(findings, hidden=tuple(sorted(hidden)), frozen=tuple(frozen))


def _files(folder: str) -> set[str]:
    found = (os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)  # noqa: PTH118
    return {path for path in found if not os.path.islink(path)}  # noqa: PTH114


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(path) as found:
        yield from found
