"""Private folders that replace ``/tmp`` and the person's home, one pair for each key."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_MIB = 1_048_576
_MOST_ENTRIES = 100_000
_PREFIX, _LOCK = "hookline-sandbox-", "lock"
_NEW_SECONDS = 60.0
"""A folder younger than this may not be locked yet."""


class PrivateFolders:
    """Pairs of folders, kept until :meth:`close`. A pair may have ``limit_mb`` MiB.

    A killed process leaves its pairs behind; the next process that makes a pair removes them. It
    recognizes them by their lock, which a living process holds.
    """

    def __init__(self, limit_mb: int) -> None:
        self._limit = limit_mb * _MIB
        self._folders: dict[str, Path] = {}
        self._locks: dict[str, int] = {}

    def folder(self, key: str) -> Path:
        """Return the folder with ``tmp`` and ``home`` of ``key``; made at first use, mode 0700."""
        if key not in self._folders:
            if not self._folders:
                _remove_left_behind()
            made = Path(tempfile.mkdtemp(prefix=_PREFIX))
            lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._locks[key] = lock
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in ("tmp", "home"):
                (made / name).mkdir()
            self._folders[key] = made
        return self._folders[key]

    def emptied(self, key: str) -> bool:
        """Empty the pair of ``key`` if it exceeds the limit; return whether it did."""
        folder = self._folders.get(key)
        if folder is None or not _is_over(folder, self._limit):
            return False
        for name in ("tmp", "home"):
            for entry in list(os.scandir(folder / name)):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink(missing_ok=True)
        return True

    def remove(self, key: str) -> None:
        """Remove the pair of ``key``, if there is one."""
        if key in self._folders:
            shutil.rmtree(self._folders.pop(key), ignore_errors=True)
            os.close(self._locks.pop(key))

    def close(self) -> None:
        """Remove all pairs."""
        for key in list(self._folders):
            self.remove(key)


def _remove_left_behind() -> None:
    """Remove the pairs of this user's dead processes."""
    with suppress(OSError):  # another process removes it too, or it cannot be listed
        for entry in os.scandir(tempfile.gettempdir()):
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                _remove_if_dead(Path(entry.path), entry.stat(follow_symlinks=False))


def _remove_if_dead(folder: Path, status: os.stat_result) -> None:
    if status.st_uid != os.getuid() or time.time() - status.st_mtime < _NEW_SECONDS:
        return
    with suppress(OSError):  # locked, or without a lock
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _is_over(folder: Path, limit: int) -> bool:
    """Whether the files take more than ``limit`` bytes, or are too many to count."""
    total = entries = 0
    pending = [str(folder)]
    while pending:
        try:
            found = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in found:
            entries += 1
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                total += entry.stat(follow_symlinks=False).st_blocks * 512
        if total > limit or entries > _MOST_ENTRIES:
            return True
    return False
