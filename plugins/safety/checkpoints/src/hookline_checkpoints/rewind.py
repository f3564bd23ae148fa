"""Restores a folder from a snapshot: plans the changes and applies them.

The folder was saved just before, so everything that is replaced or removed can be restored. Files
that changed since then, or could not be saved, are kept and reported.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from stat import S_IFMT, S_IMODE, S_ISDIR, S_ISLNK

from hookline_hookspecs import crash

from .folder import Folder
from .folder_state import FileRecord
from .snapshot import Present, git_mode
from .store import SnapshotContent, SnapshotStore

_BATCH = 64
"""Files that are written between two looks at the event loop."""
SKIP_REASONS = {
    "large": "it is too large to be saved",
    "unreadable": "it cannot be read",
    "special": "it is not a regular file",
    "git": "it belongs to a git repository",
    "own": "it is Hookline's own",
    "excluded": "it is a folder of dependencies or build results",
    "ignored": "it is ignored",
    "secret": "its name is that of a secret",
    "long": "its path is too long",
}
"""The reasons why something is skipped, as text."""


@dataclass(slots=True)
class RewindPlan:
    """What has to be done, in this order; paths are relative. ``left`` says why something is not
    done."""

    remove: list[str] = field(default_factory=list)
    remove_folders: list[str] = field(default_factory=list)
    make: list[str] = field(default_factory=list)
    write: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class RewindResult:
    """What was done, and what was left as it is, with the reason."""

    restored: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def plan(present: Present, target: SnapshotContent, within: str = "") -> RewindPlan:
    """How to get from ``present`` to ``target``; ``within`` is the one file or folder to go back.

    What is not in the snapshot because it was left alone then is not taken for new.
    """
    made = RewindPlan()
    chosen = _chooser(within)
    for path in present.files:
        if chosen(path) and path not in target.files and not _covered(path, target.left):
            made.remove.append(path)
    for path in present.folders:
        if chosen(path) and path not in target.folders and not _covered(path + "/", target.left):
            made.remove_folders.append(path)
    made.remove_folders.sort(key=_depth, reverse=True)
    made.make = sorted(p for p in target.folders if chosen(p) and p not in present.folders)
    for path in filter(chosen, target.files):
        if why := present.left.get(path):
            made.left[path] = SKIP_REASONS.get(why, why)
        elif _differs(present.files.get(path), target.files[path]):
            made.write.append(path)
        elif not _is_link(target, path) and _mode(present, path) != mode_of(target, path):
            made.modes[path] = mode_of(target, path)
    made.write.sort()
    for path, mode in target.folders.items():
        if chosen(path) and present.folders.get(path) != mode:
            made.modes[path] = mode
    return made


def _differs(known: FileRecord | None, wanted: tuple[int, str]) -> bool:
    """True if kind or content are not the wanted ones."""
    mode, oid = wanted
    return known is None or known.oid != oid or S_IFMT(git_mode(known.mark)) != S_IFMT(mode)


def _is_link(target: SnapshotContent, path: str) -> bool:
    return S_ISLNK(target.files[path][0])


def _mode(present: Present, path: str) -> int:
    return S_IMODE(present.files[path].mark.mode)


def mode_of(target: SnapshotContent, path: str) -> int:
    """The mode in full of a file that is no link."""
    return target.modes.get(path, target.files[path][0] & 0o7777)


async def apply_plan(
    store: SnapshotStore, folder: Path, present: Present, target: SnapshotContent, work: RewindPlan
) -> RewindResult:
    """Do what ``work`` says; a failure of one path is told and does not stop the others.

    Raises:
        GitFailed: a content cannot be had; what was done before stays done.
        OSError: the folder cannot be entered.
    """
    done = RewindResult(left=dict(work.left))
    with Folder(folder) as at:
        hand = _FolderWriter(at, present, target, done)
        await asyncio.to_thread(hand.clear, work)
        oids = [target.files[path][1] for path in work.write]
        contents = store.blobs(oids)
        try:
            pending: list[tuple[str, bytes]] = []
            for path in work.write:
                pending.append((path, await anext(contents)))
                if len(pending) >= _BATCH or sum(len(one) for _, one in pending) > 8_000_000:
                    await asyncio.to_thread(hand.write, pending)
                    pending = []
            await asyncio.to_thread(hand.write, pending)
        finally:
            await contents.aclose()
            await asyncio.to_thread(hand.finish, work)
    return done


class _FolderWriter:
    """Changes the folder, one path at a time."""

    def __init__(
        self, at: Folder, present: Present, target: SnapshotContent, done: RewindResult
    ) -> None:
        self._at = at
        self._present = present
        self._target = target
        self._done = done

    def clear(self, work: RewindPlan) -> None:
        """Remove what came later, and make the folders that are missing."""
        for path in work.remove:
            self._attempt(path, partial(self._remove, path))
        for path in work.remove_folders:
            self._attempt(path + "/", partial(self._at.remove_folder, path))
        for path in work.make:
            self._attempt(path + "/", partial(self._at.make, path))

    def write(self, contents: Iterable[tuple[str, bytes]]) -> None:
        """Put files and links in their places."""
        for path, content in contents:
            self._attempt(path, partial(self._write, path, content))

    def finish(self, work: RewindPlan) -> None:
        """Set the modes, folders last and from below, because they may forbid more work."""
        self._at.tighten()
        for path in sorted(work.modes, key=_depth, reverse=True):
            self._attempt(path, partial(self._chmod, path, work.modes[path]))

    def _remove(self, path: str) -> None:
        self._require_unchanged(path)
        self._at.remove(path)
        self._done.removed.append(path)
        crash.point("mid-rewind")

    def _write(self, path: str, content: bytes) -> None:
        self._require_unchanged(path)
        for above in _parents(path):
            if self._at.mark(above) is None:
                self._at.make(above)
        if _is_link(self._target, path):
            self._at.link(path, content)
        else:
            self._at.write(path, content, mode_of(self._target, path))
        self._done.restored.append(path)
        crash.point("mid-rewind")

    def _chmod(self, path: str, mode: int) -> None:
        self._at.chmod(path, mode)
        if path in self._target.files:
            self._done.restored.append(path)

    def _require_unchanged(self, path: str) -> None:
        """Only what was saved a moment ago may be replaced."""
        known = self._present.files.get(path)
        mark = self._at.mark(path)
        if mark is None or (known is not None and known.mark == mark):
            return
        if S_ISDIR(mark.mode):
            raise OSError(errno.EISDIR, "a folder is in its place, with files that are left alone")
        raise OSError(errno.EBUSY, "it was changed meanwhile; rewind again")

    def _attempt(self, path: str, act: Callable[[], None]) -> None:
        try:
            act()
        except FileNotFoundError:
            if path in self._target.files:
                self._done.left[path] = "its folder cannot be made"
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                self._done.left[path] = "it holds files that are left alone"
            else:
                self._done.left[path] = error.strerror or os.strerror(error.errno or 0)


def _chooser(within: str) -> Callable[[str], bool]:
    if not within:
        return lambda _path: True
    return lambda path: path == within or path.startswith(within + "/")


def _covered(path: str, left: Mapping[str, str] | Collection[str]) -> bool:
    """True if ``path`` was left alone itself, under either kind, or lies in a folder that was."""
    bare = path.rstrip("/")
    return bare in left or bare + "/" in left or any(one + "/" in left for one in _parents(bare))


def _parents(path: str) -> Iterable[str]:
    """The folders above ``path``, the topmost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _depth(path: str) -> int:
    return path.count("/")
