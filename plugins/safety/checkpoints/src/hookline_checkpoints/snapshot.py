"""Takes a snapshot: surveys a folder, reads changed files, and writes them as one commit."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookline_hookspecs import crash

from .errors import CheckpointError, DiskFull, GitFailed, TooLarge
from .folder import Folder
from .folder_state import FileRecord, FileStamp, FolderState, FolderStates
from .git import failure
from .store import OID, PRESENT, SnapshotStore
from .survey import Scope, Survey, look

RACY_NANOSECONDS = 2_000_000_000
"""A file that changed less than this before it was read is read again next time, because a later
change may have the same time (FAT stores two seconds; git calls such an entry racy)."""
_BATCH = 250_000
"""Bytes that are read before they are handed to git, which works on them meanwhile."""
_DEFAULT = {0o100644: 0o644, 0o100755: 0o755}
"""Modes that git's own mode implies, so that they need not be stored."""


@dataclass(frozen=True, slots=True)
class Present:
    """A folder as it is, saved as ``commit``. ``skipped`` is what the snapshot does not hold."""

    commit: str
    files: Mapping[str, FileRecord]
    folders: Mapping[str, int]
    skipped: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SnapshotLabel:
    """The ref of a snapshot and its description. A snapshot without a label is only the folder's
    last known state."""

    ref: str
    about: Mapping[str, Any]


def has_all_of(present: Present, place: Path, folder: Path) -> bool:
    """Whether the snapshot of ``folder`` holds the file ``place``, or everything below it."""
    place = place.parent.resolve() / place.name
    if not place.is_relative_to(folder):
        return False
    path = place.relative_to(folder).as_posix()
    if path in present.files:
        return True
    inside = path == "." or path in present.folders
    return inside and not any(
        path == "." or skipped.startswith(path + "/") for skipped in present.skipped
    )


def key_of(*parts: str) -> str:
    """Return the key of a folder (its resolved path) or of a chat (channel and id)."""
    text = json.dumps(parts).encode("ascii")
    return hashlib.sha256(text).hexdigest()[:32]


def git_mode(stamp: FileStamp) -> int:
    """Return the mode that git stores: a link, a program or a file."""
    if stat.S_ISLNK(stamp.mode):
        return 0o120000
    return 0o100755 if stamp.mode & 0o100 else 0o100644


async def take(
    store: SnapshotStore,
    states: FolderStates,
    scope: Scope,
    *,
    label: SnapshotLabel | None = None,
    forced_paths: Iterable[str] = (),
    max_bytes: int,
) -> Present:
    """Save the folder of ``scope``; the caller holds its lock.

    ``forced_paths`` are paths that are saved even if they would be skipped, because they are about
    to be replaced.

    Raises:
        TooLarge: the folder exceeds the limits.
        GitFailed: git is missing or could not write, for example because the disk is full.
        OSError: the folder cannot be read.
    """
    key = key_of(str(scope.path))
    await asyncio.to_thread(store.make)
    state = await asyncio.to_thread(states.load, key)
    if state.commit and state.commit != store.present(key):
        state = FolderState()  # The state describes a commit that the store may no longer have.
    try:
        return await _take(store, states, scope, key, state, label, forced_paths, max_bytes)
    except GitFailed as error:
        if not state.commit or isinstance(error, DiskFull):
            raise
    states.forget(key)
    return await _take(store, states, scope, key, FolderState(), label, forced_paths, max_bytes)


async def _take(
    store: SnapshotStore,
    states: FolderStates,
    scope: Scope,
    key: str,
    state: FolderState,
    label: SnapshotLabel | None,
    forced_paths: Iterable[str],
    max_bytes: int,
) -> Present:
    seen = time.time_ns()
    survey = await look(scope, state)
    size = sum(stamp.size for stamp in survey.files.values())
    if size > max_bytes:
        raise TooLarge(f"it holds more than {max_bytes // 1_000_000:,} MB")
    with Folder(scope.path) as folder:
        forced = await asyncio.to_thread(_forced, folder, survey, forced_paths, scope.max_file)
        work = _SnapshotWork(state, survey, forced, scope.max_file)
        commit, tree = await _import(store, key, folder, work, label)
    after = work.state_after(commit, tree, seen)
    await asyncio.to_thread(states.save, key, after)
    return work.present(commit)


@dataclass(frozen=True, slots=True)
class Observation:
    """A folder as it was just found, without a snapshot. ``state`` speeds up the next one."""

    present: Present
    state: FolderState


async def observe(
    scope: Scope, state: FolderState, forced_paths: Iterable[str] = ()
) -> Observation:
    """Find out what a folder holds, reading only what changed since ``state``; nothing is saved.

    ``forced_paths`` are included even if they would be skipped.

    Raises:
        TooLarge: the folder has too many files.
        GitFailed: git could not tell which files are ignored.
        OSError: the folder cannot be read.
    """
    seen = time.time_ns()
    survey = await look(scope, state)
    with Folder(scope.path) as folder:
        forced = await asyncio.to_thread(_forced, folder, survey, forced_paths, scope.max_file)
        work = _SnapshotWork(state, survey, forced, scope.max_file)
        await asyncio.to_thread(work.read_all, folder)
    return Observation(work.present(""), work.state_after("", "", seen))


def _forced(
    folder: Folder, survey: Survey, forced_paths: Iterable[str], max_file: int
) -> dict[str, FileStamp]:
    """Return the forced paths that the survey skipped, and those of their parents that are
    not folders."""
    found: dict[str, FileStamp] = {}
    # Nearly all of them are in the survey.
    for path in _with_parents(path for path in forced_paths if path not in survey.files):
        if path in survey.files or path in survey.folders or path in found:
            continue
        stamp = folder.stamp(path)
        if stamp is None or stat.S_ISDIR(stamp.mode):
            continue
        if stat.S_ISLNK(stamp.mode) or (stat.S_ISREG(stamp.mode) and stamp.size <= max_file):
            found[path] = stamp
    return found


def _with_parents(paths: Iterable[str]) -> Iterator[str]:
    given: set[str] = set()
    for path in paths:
        yield path
        above = path.rpartition("/")[0]
        while above and above not in given:
            given.add(above)
            yield above
            above = above.rpartition("/")[0]


@dataclass(slots=True)
class _SnapshotWork:
    """What a snapshot has to write: the difference between the last state and the survey."""

    state: FolderState
    survey: Survey
    forced: Mapping[str, FileStamp]
    max_file: int
    files: dict[str, FileRecord] = field(default_factory=dict)

    def gone(self) -> list[str]:
        """Paths that are in the tree but not in the folder."""
        known = [path for path in self.state.files if path not in self.survey.files]
        return known + self.state.stale

    def unread(self) -> list[str]:
        """Paths to read; the others are unchanged."""
        trusted = self.state.seen - RACY_NANOSECONDS
        unread = list(self.forced)
        for path, stamp in self.survey.files.items():
            known = self.state.files.get(path)
            if known and known.stamp == stamp and stamp.mtime < trusted and stamp.ctime < trusted:
                self.files[path] = known
            else:
                unread.append(path)
        return unread

    def read(self, folder: Folder, paths: Iterator[str]) -> list[bytes] | None:
        """Return git commands for the next of ``paths``; None after the last."""
        commands: list[bytes] = []
        size = looked = 0
        for path in paths:
            looked += 1
            command = self._read(folder, path)
            commands.append(command)
            size += len(command)
            if size > _BATCH:
                break
        return commands if looked else None

    def read_all(self, folder: Folder) -> None:
        """Find out the ids of all changed contents."""
        for path in self.unread():
            self._read(folder, path)

    def present(self, commit: str) -> Present:
        """Return what was found, once everything is read."""
        skipped = {
            path: why for path, why in self.survey.skipped.items() if path not in self.forced
        }
        return Present(commit, self.files, self.survey.folders, skipped)

    def state_after(self, commit: str, tree: str, seen: int) -> FolderState:
        """Return the state that the next survey starts from."""
        usual = {path: known for path, known in self.files.items() if path not in self.forced}
        survey = self.survey
        return FolderState(
            *(commit, tree, usual, survey.folders, survey.skipped, survey.ignores),
            *([*self.forced], seen),
        )

    def _read(self, folder: Folder, path: str) -> bytes:
        known = self.state.files.get(path)
        try:
            stamp, content = folder.read(path, self.max_file)
        except PermissionError:
            return self._leave(path, "unreadable")
        except OSError:  # Removed or replaced since the survey.
            return self._leave(path, "")
        if len(content) > self.max_file:
            return self._leave(path, "large")
        oid = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        self.files[path] = FileRecord(stamp, oid.hexdigest())
        if known and known.oid == oid.hexdigest() and git_mode(known.stamp) == git_mode(stamp):
            return b""
        head = b"M %o inline %b\ndata %d\n" % (git_mode(stamp), _quoted(path), len(content))
        return head + content + b"\n"

    def _leave(self, path: str, reason: str) -> bytes:
        self.survey.files.pop(path, None)
        if reason:
            self.survey.skipped[path] = reason
        return b"D %b\n" % _quoted(path) if path in self.state.files else b""

    def meta(self) -> bytes:
        """Return what git's tree cannot hold, as JSON."""
        modes = {}
        for path, known in self.files.items():
            mode = stat.S_IMODE(known.stamp.mode)
            if mode != _DEFAULT.get(git_mode(known.stamp), mode):
                modes[path] = mode
        skipped = self.present("").skipped
        metadata = {"modes": modes, "folders": self.survey.folders, "left": skipped}
        return json.dumps(metadata, sort_keys=True, separators=(",", ":")).encode("ascii")


async def _import(
    store: SnapshotStore, key: str, folder: Folder, work: _SnapshotWork, label: SnapshotLabel | None
) -> tuple[str, str]:
    """Write the commit; return its id and its tree's, which is empty without files."""
    async with store.importing(key) as process:
        assert process.stdin is not None
        try:
            process.stdin.write(_head(key, work, label))
            paths = iter(work.unread())
            while (commands := await asyncio.to_thread(work.read, folder, paths)) is not None:
                process.stdin.writelines(commands)
                await process.stdin.drain()
                crash.point("mid-checkpoint")
            process.stdin.write(_tail(key, work, label))
        except (BrokenPipeError, ConnectionResetError):
            pass  # git reports the reason when it ends.
        output, errors = await process.communicate()
        if process.returncode != 0:
            raise failure("fast-import", process.returncode, errors)
        return _ids(output)


def _head(key: str, work: _SnapshotWork, label: SnapshotLabel | None) -> bytes:
    """Return the start of the commit: its base and the removed paths."""
    ref = label.ref if label else f"{PRESENT}/{key}"
    about = json.dumps(dict(label.about) if label else {}).encode("ascii")
    lines = [
        b"commit %b" % ref.encode("ascii"),
        b"mark :1",
        b"committer Hookline <hookline> %d +0000" % int(time.time()),
        b"data %d\n%b" % (len(about), about),
    ]
    if work.state.tree:
        lines.append(b"M 040000 %b tree" % work.state.tree.encode("ascii"))
        lines += [b"D %b" % _quoted(path) for path in work.gone()]
    return b"\n".join(lines) + b"\n"


def _tail(key: str, work: _SnapshotWork, label: SnapshotLabel | None) -> bytes:
    """Return the end of the commit, and the commands that ask for its ids."""
    meta = work.meta()
    text = b'M 100644 inline meta\ndata %d\n%b\nls "tree"\n\n' % (len(meta), meta)
    if label:
        text += b"reset %b/%b\nfrom :1\n\n" % (PRESENT.encode("ascii"), key.encode("ascii"))
    return text + b"get-mark :1\ndone\n"


def _ids(output: bytes) -> tuple[str, str]:
    """Return commit and tree from git's answers: ``040000 tree ID\\ttree`` or ``missing``, then an
    id."""
    lines = output.decode("utf-8", "replace").splitlines()
    if len(lines) != 2 or not OID.fullmatch(lines[1]):
        raise CheckpointError("git fast-import gave an unexpected answer")
    words = lines[0].split()
    return lines[1], words[2] if len(words) > 2 and OID.fullmatch(words[2]) else ""


def _quoted(path: str) -> bytes:
    """Return ``tree/PATH`` for git, with special bytes in octal."""
    body = bytearray(b'"tree/')
    for byte in os.fsencode(path):
        if byte in b'"\\' or not 0x20 <= byte < 0x7F:
            body += b"\\%03o" % byte
        else:
            body.append(byte)
    return bytes(body) + b'"'
