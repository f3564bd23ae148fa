"""Which changes of a folder were made by tool calls: one file for each call.

``STAMP.json`` holds the call's chat and the paths that it changed, each with its state before and
after. What changes between calls is in no file, so it was not the agent. The file of a running call
says that it is unfinished; if its process is killed, it stays so.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_IFDIR, S_IFLNK, S_IFREG, S_ISLNK

from .exclusion_rules import is_skipped
from .folder_state import FileRecord, private_folder, replace_file
from .snapshot import Present
from .store import SnapshotContent

MISSING = ""
"""The state of a path that does not exist."""

PathState = str
"""A path at one moment: mode in octal and, of a file or link, the content's id."""

Changes = Mapping[str, tuple[PathState, PathState]]
"""States before and after by path; the path of a folder ends with ``/``."""


def file_state(known: FileRecord | None) -> PathState:
    """Return the state of a file as it was read."""
    if known is None:
        return MISSING
    mode = S_IFLNK if S_ISLNK(known.stamp.mode) else known.stamp.mode
    return f"{mode:o} {known.oid}"


def folder_state(mode: int | None) -> PathState:
    """Return the state of a folder with these permission bits."""
    return MISSING if mode is None else f"{S_IFDIR | mode:o}"


def present_state(present: Present, path: str) -> PathState:
    """Return the state of ``path`` in the folder as it is."""
    if path.endswith("/"):
        return folder_state(present.folders.get(path[:-1]))
    return file_state(present.files.get(path))


def saved_state(content: SnapshotContent, path: str) -> PathState:
    """Return the state of ``path`` in a snapshot."""
    if path.endswith("/"):
        return folder_state(content.folders.get(path[:-1]))
    if path not in content.files:
        return MISSING
    mode, oid = content.files[path]
    if not S_ISLNK(mode):
        mode = S_IFREG | content.modes.get(path, mode & 0o7777)
    return f"{mode:o} {oid}"


def difference(
    before: Present, after: Present, named: Collection[str] = ()
) -> dict[str, tuple[PathState, PathState]]:
    """Return what changed from one moment to another.

    A path that was skipped before is left out, because its earlier state is unknown; ``named`` are
    paths that were looked for although they may be skipped.
    """
    paths = {path for path, known in after.files.items() if before.files.get(path) != known}
    paths.update(before.files.keys() - after.files.keys())
    for path in before.folders.keys() | after.folders.keys():
        if before.folders.get(path) != after.folders.get(path):
            paths.add(path + "/")
    found = {}
    for path in paths:
        states = present_state(before, path), present_state(after, path)
        unknown = not states[0] and path not in named and is_skipped(path, before.skipped)
        if states[0] != states[1] and not unknown:
            found[path] = states
    return found


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """What a call changed. ``named`` are the paths that its arguments name, ``began`` and ``ended``
    Unix times in seconds; ``ended`` is None while it runs, or if it was killed."""

    chat: str
    named: frozenset[str]
    began: float
    ended: float | None = None
    changes: Changes = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long the call ran; 0 if it has not ended."""
        return 0.0 if self.ended is None else max(0.0, self.ended - self.began)

    def overlaps(self, other: RecordedCall) -> bool:
        """Whether both ran at the same time."""
        if self.ended is None or other.ended is None:
            return False
        return self.began <= other.ended and other.began <= self.ended


class ChangeLog:
    """The calls that changed one folder, in files below ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def begin(self, chat: str, now: float, named: Iterable[str] = ()) -> RunningCall:
        """Record that a call begins at ``now``, the host's time. Raises ``OSError``."""
        private_folder(self._root)
        path = self._root / f"{_stamp(now)}-{secrets.token_hex(4)}.json"
        running = RunningCall(path, RecordedCall(chat, frozenset(named), time.time()))
        _write(path, running.call)
        return running

    def add(self, chat: str, now: float, changes: Changes) -> None:
        """Record changes that are complete, or about to be made. Raises ``OSError``."""
        self.begin(chat, now).end(changes)

    def since(self, time_: float) -> list[RecordedCall]:
        """Return the calls that began or ended since ``time_``, the host's time, oldest first."""
        found = []
        for path in sorted(self._files()):
            call = _read(path)
            if call is not None and _stamp(time_ - call.seconds) <= path.name:
                found.append(call)
        return found

    def drop_before(self, time_: float) -> None:
        """Delete the calls before ``time_``."""
        for path in self._files():
            if path.name < _stamp(time_):
                with suppress(OSError):
                    path.unlink()

    def _files(self) -> list[Path]:
        with suppress(OSError):
            return [path for path in self._root.iterdir() if path.suffix == ".json"]
        return []


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call that has begun, and its file."""

    path: Path
    call: RecordedCall

    def end(self, changes: Changes) -> None:
        """Record what the call changed. Raises ``OSError``."""
        begun = self.call
        if changes:
            _write(
                self.path, RecordedCall(begun.chat, begun.named, begun.began, time.time(), changes)
            )
        else:
            self.path.unlink(missing_ok=True)


def _stamp(now: float) -> str:
    return f"{int(now * 1e6):018d}"


def _write(path: Path, call: RecordedCall) -> None:
    data = [call.chat, sorted(call.named), call.began, call.ended, dict(call.changes)]
    replace_file(path, json.dumps(data, separators=(",", ":")).encode("ascii"))


def _read(path: Path) -> RecordedCall | None:
    with suppress(OSError, ValueError, TypeError):
        chat, named, began, ended, changes = json.loads(path.read_bytes())
        states = {name: (before, after) for name, (before, after) in changes.items()}
        return RecordedCall(chat, frozenset(named), began, ended, states)
    return None
