"""Restores a folder from a snapshot: plans the changes and applies them.

The folder was saved just before, so everything that is replaced or removed can be restored. Files
that changed since then, or could not be saved, are kept and reported.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from stat import S_IFMT, S_IMODE, S_ISDIR, S_ISLNK

from hookline_hookspecs import crash

from .exclusion_rules import is_skipped, parents
from .folder import Folder
from .folder_state import FileRecord
from .snapshot import Present, git_mode
from .store import SnapshotContent, SnapshotStore

_BATCH = 64
"""Files written in one batch, before the event loop runs again."""
_BATCH_BYTES = 8_000_000
"""Bytes after which a batch is written even if it has fewer files."""
SKIP_REASONS = {
    "large": "it is too large to be saved",
    "unreadable": "it cannot be read",
    "special": "it is not a regular file",
    "git": "it belongs to a git repository",
    "own": "it is Hookline's own",
    "running": "Hookline runs this code",
    "excluded": "it is a folder of dependencies or build results",
    "ignored": "it is ignored",
    "secret": "its name is that of a secret",
    "long": "its path is too long",
}
"""The reasons why something is skipped, as text."""


@dataclass(slots=True)
class RewindPlan:
    """The changes to make, in this order; paths are relative. ``skipped`` are paths that stay as
    they are, with the reason."""

    remove: list[str] = field(default_factory=list)
    remove_folders: list[str] = field(default_factory=list)
    make: list[str] = field(default_factory=list)
    write: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class RewindResult:
    """What was changed, and what was skipped, with the reason."""

    restored: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


def plan(
    present: Present, target: SnapshotContent, within: str = "", created: Collection[str] = ()
) -> RewindPlan:
    """Return the changes from ``present`` to ``target``, only for the file or folder ``within`` if
    it is given.

    What the snapshot skipped is not removed, although it is not in the snapshot; ``created`` are
    exceptions, which certainly did not exist then.
    """
    rewind = RewindPlan()
    is_within = _path_filter(within)
    for path in present.files:
        skipped = path not in created and is_skipped(path, target.skipped)
        if is_within(path) and path not in target.files and not skipped:
            rewind.remove.append(path)
    for path in present.folders:
        skipped = is_skipped(path + "/", target.skipped)
        if is_within(path) and path not in target.folders and not skipped:
            rewind.remove_folders.append(path)
    rewind.remove_folders.sort(key=_depth, reverse=True)
    rewind.make = sorted(p for p in target.folders if is_within(p) and p not in present.folders)
    for path in filter(is_within, target.files):
        if why := present.skipped.get(path):
            rewind.skipped[path] = SKIP_REASONS.get(why, why)
        elif _differs(present.files.get(path), target.files[path]):
            rewind.write.append(path)
        elif not _is_link(target, path) and _mode(present, path) != mode_of(target, path):
            rewind.modes[path] = mode_of(target, path)
    rewind.write.sort()
    for path, mode in target.folders.items():
        if is_within(path) and present.folders.get(path) != mode:
            rewind.modes[path] = mode
    return rewind


def selected(work: RewindPlan, chosen: Callable[[str], bool]) -> RewindPlan:
    """Return the part of ``work`` on the paths that ``chosen`` accepts; a folder's ends with
    ``/``."""
    modes = {path: mode for path, mode in work.modes.items() if chosen(path) or chosen(path + "/")}
    return RewindPlan(
        [path for path in work.remove if chosen(path)],
        [path for path in work.remove_folders if chosen(path + "/")],
        [path for path in work.make if chosen(path + "/")],
        [path for path in work.write if chosen(path)],
        modes,
        work.skipped,
    )


def without_read_only(work: RewindPlan, is_read_only: Callable[[str], bool]) -> RewindPlan:
    """Return the plan without paths that tools may not write; they are skipped."""
    paths = [*work.remove, *work.remove_folders, *work.make, *work.write, *work.modes]
    kept = {path for path in paths if is_read_only(path)}
    chosen = selected(work, lambda path: path.rstrip("/") not in kept)
    return replace(
        chosen, skipped={**chosen.skipped, **dict.fromkeys(kept, SKIP_REASONS["running"])}
    )


def _differs(known: FileRecord | None, target: tuple[int, str]) -> bool:
    """Whether kind or content differ from the target's."""
    mode, oid = target
    return known is None or known.oid != oid or S_IFMT(git_mode(known.stamp)) != S_IFMT(mode)


def _is_link(target: SnapshotContent, path: str) -> bool:
    return S_ISLNK(target.files[path][0])


def _mode(present: Present, path: str) -> int:
    return S_IMODE(present.files[path].stamp.mode)


def mode_of(target: SnapshotContent, path: str) -> int:
    """Return all mode bits of a file that is not a link."""
    return target.modes.get(path, target.files[path][0] & 0o7777)


async def apply_plan(
    store: SnapshotStore, folder: Path, present: Present, target: SnapshotContent, work: RewindPlan
) -> RewindResult:
    """Apply ``work``. If one path fails, it is reported as skipped and the others continue.

    Raises:
        GitFailed: a file's content cannot be read; earlier changes stay.
        OSError: the folder cannot be opened.
    """
    done = RewindResult(skipped=dict(work.skipped))
    with Folder(folder) as opened:
        writer = _FolderWriter(opened, present, target, done)
        await asyncio.to_thread(writer.clear, work)
        oids = [target.files[path][1] for path in work.write]
        contents = store.blobs(oids)
        try:
            pending: list[tuple[str, bytes]] = []
            for path in work.write:
                pending.append((path, await anext(contents)))
                size = sum(len(content) for _, content in pending)
                if len(pending) >= _BATCH or size > _BATCH_BYTES:
                    await asyncio.to_thread(writer.write, pending)
                    pending = []
            await asyncio.to_thread(writer.write, pending)
        finally:
            await contents.aclose()
            await asyncio.to_thread(writer.finish, work)
    return done


class _FolderWriter:
    """Changes the folder, one path at a time."""

    def __init__(
        self, folder: Folder, present: Present, target: SnapshotContent, done: RewindResult
    ) -> None:
        self._folder = folder
        self._present = present
        self._target = target
        self._done = done

    def clear(self, work: RewindPlan) -> None:
        """Remove files and folders that the snapshot lacks, and make missing folders."""
        for path in work.remove:
            self._attempt(path, partial(self._remove, path))
        for path in work.remove_folders:
            self._attempt(path + "/", partial(self._folder.remove_folder, path))
        for path in work.make:
            self._attempt(path + "/", partial(self._folder.make, path))

    def write(self, contents: Iterable[tuple[str, bytes]]) -> None:
        """Write files and links."""
        for path, content in contents:
            self._attempt(path, partial(self._write, path, content))

    def finish(self, work: RewindPlan) -> None:
        """Set the modes, the deepest paths first: a folder's mode may forbid more changes."""
        self._folder.tighten()
        for path in sorted(work.modes, key=_depth, reverse=True):
            self._attempt(path, partial(self._chmod, path, work.modes[path]))

    def _remove(self, path: str) -> None:
        self._require_unchanged(path)
        self._folder.remove(path)
        self._done.removed.append(path)
        crash.point("mid-rewind")

    def _write(self, path: str, content: bytes) -> None:
        self._require_unchanged(path)
        for parent in parents(path):
            if self._folder.stamp(parent) is None:
                self._folder.make(parent)
        if _is_link(self._target, path):
            self._folder.link(path, content)
        else:
            self._folder.write(path, content, mode_of(self._target, path))
        self._done.restored.append(path)
        crash.point("mid-rewind")

    def _chmod(self, path: str, mode: int) -> None:
        self._folder.chmod(path, mode)
        if path in self._target.files:
            self._done.restored.append(path)

    def _require_unchanged(self, path: str) -> None:
        """Raise ``OSError`` if the path changed since the snapshot that was made just before."""
        known = self._present.files.get(path)
        stamp = self._folder.stamp(path)
        if stamp is None or (known is not None and known.stamp == stamp):
            return
        if S_ISDIR(stamp.mode):
            raise OSError(errno.EISDIR, "a folder is in its place, with files that are left alone")
        raise OSError(errno.EBUSY, "it was changed meanwhile; rewind again")

    def _attempt(self, path: str, act: Callable[[], None]) -> None:
        try:
            act()
        except FileNotFoundError:
            if path in self._target.files:
                self._done.skipped[path] = "its folder cannot be made"
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                self._done.skipped[path] = "it holds files that are left alone"
            else:
                self._done.skipped[path] = error.strerror or os.strerror(error.errno or 0)


def _path_filter(within: str) -> Callable[[str], bool]:
    if not within:
        return lambda _path: True
    return lambda path: path == within or path.startswith(within + "/")


def _depth(path: str) -> int:
    return path.count("/")
