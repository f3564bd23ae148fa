"""What has to be put back if this process is killed while sandboxed programs run.

Each process has a file for each workspace, which is locked as long as the process lives. The next
process that starts completes what the files of dead ones say, before anything runs.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .control_files import REMOVED_FOLDER, Changes, Kept, put_back
from .kept_trees import KeptEntry, Tree
from .repositories import outer_repository
from .survey import Findings, Survey

JOURNAL_FOLDER = "put-back-journal"
"""Folder in Hookline's home."""
END_TIMEOUT = 5.0
"""Seconds in which the sandboxes of a dead process end by themselves, before they are killed."""
_POLL_INTERVAL = 0.05


@dataclass(slots=True)
class _File:
    descriptor: int
    path: Path
    kept: dict[str, Any] | None = None
    processes: list[list[int]] | None = None


class PutBackJournal:
    """The journal of this process. ``home`` is Hookline's."""

    def __init__(self, home: Path) -> None:
        self._folder = home / JOURNAL_FOLDER
        self._files: dict[Path, _File] = {}

    def write(self, workspace: Path, kept: Kept) -> None:
        """Note what has to be put back. Raises ``OSError``."""
        file = self._files.get(workspace) or self._open(workspace)
        file.kept = {"workspace": str(workspace), **_to_json(kept)}
        self._store(file)

    def add_process(self, workspace: Path, process: int) -> None:
        """Note the process of a sandbox that works in the workspace."""
        file = self._files.get(workspace) or self._open(workspace)
        known = [each for each in file.processes or [] if _started(each[0]) == each[1]]
        file.processes = [*known, [process, _started(process)]]
        if file.kept is not None:
            self._store(file)

    def clear(self, workspace: Path) -> None:
        """Note that nothing has to be put back."""
        if file := self._files.get(workspace):
            file.kept = None
            os.ftruncate(file.descriptor, 0)

    def close(self) -> None:
        """Remove the files; nothing has to be put back any more."""
        for file in self._files.values():
            file.path.unlink(missing_ok=True)
            os.close(file.descriptor)
        self._files.clear()

    def _open(self, workspace: Path) -> _File:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{os.getpid()}-{uuid.uuid4().hex}.json"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        file = self._files[workspace] = _File(os.open(path, flags, 0o600), path)
        fcntl.flock(file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file

    def _store(self, file: _File) -> None:
        text = json.dumps({**(file.kept or {}), "processes": file.processes or []}).encode()
        os.pwrite(file.descriptor, text, 0)
        os.ftruncate(file.descriptor, len(text))


def complete_journal(
    home: Path, protection: Callable[[str, Path], str | None]
) -> dict[Path, Changes]:
    """End the sandboxes of dead processes and undo what their programs changed.

    protection: returns why programs may not make a path in a workspace, or None. Return what was
    undone, by workspace.
    """
    undone: dict[Path, Changes] = {}
    for path in _left_behind(home / JOURNAL_FOLDER):
        with suppress(OSError, ValueError, KeyError, TypeError):
            noted = json.loads(path.read_bytes() or b"null")
            if noted is not None:
                _end(noted["processes"])
                workspace = Path(noted["workspace"])
                changes = _put_back(noted, workspace, home, protection)
                if changes:
                    undone[workspace] = changes
        path.unlink(missing_ok=True)
    return undone


def _left_behind(folder: Path) -> Iterator[Path]:
    """Yield the files of processes that no longer live."""
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield path
            finally:
                os.close(descriptor)


def _put_back(
    noted: dict[str, Any],
    workspace: Path,
    home: Path,
    protection: Callable[[str, Path], str | None],
) -> Changes:
    repository = outer_repository(workspace)
    survey = Survey(workspace, lambda _: None, lambda path: protection(path, workspace), repository)
    roots = [str(root) for root in (workspace, repository) if root is not None]
    return put_back(_from_json(noted), survey.findings(), roots, home / REMOVED_FOLDER)


def _end(processes: list[list[int]]) -> None:
    """Wait until sandboxes have ended, and kill those that have not."""
    waited = 0.0
    while running := [each for each in processes if _started(each[0]) == each[1]]:
        if waited >= END_TIMEOUT:
            for process, _ in running:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process, signal.SIGKILL)
            return
        time.sleep(_POLL_INTERVAL)
        waited += _POLL_INTERVAL


def _started(process: int) -> int:
    """Return when a process started, in clock ticks; 0 if it has ended (proc_pid_stat(5))."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])


def _to_json(kept: Kept) -> dict[str, Any]:
    return {
        "findings": asdict(kept.findings),
        "contents": {path: _text(data) for path, data in kept.contents.items()},
        "links": kept.links,
        "trees": {path: _tree_to_json(tree) for path, tree in kept.trees.items()},
        "allowed": sorted(kept.allowed),
    }


def _from_json(noted: dict[str, Any]) -> Kept:
    return Kept(
        Findings(**{name: tuple(paths) for name, paths in noted["findings"].items()}),
        {path: base64.b64decode(data) for path, data in noted["contents"].items()},
        noted["links"],
        {path: _tree_from_json(tree) for path, tree in noted["trees"].items()},
        {*noted["allowed"]},
    )


def _tree_to_json(tree: Tree) -> dict[str, list[Any]]:
    return {below: [entry.kind, entry.mode, _text(entry.data)] for below, entry in tree.items()}


def _tree_from_json(noted: dict[str, list[Any]]) -> Tree:
    return {
        below: KeptEntry(kind, mode, base64.b64decode(data))
        for below, (kind, mode, data) in noted.items()
    }


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
