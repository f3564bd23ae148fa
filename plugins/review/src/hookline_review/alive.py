"""Detects dead processes: each process that runs reviews holds a file lock until it dies.

So the review of a killed process is restarted at once, and a slow one is not run twice.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Storage

if TYPE_CHECKING:
    from filelock import BaseFileLock


class ProcessLock:
    """This process's lock file in the plugin's folder. ``id`` names the process to the others."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock: BaseFileLock | None = None
        self.id = f"{os.getpid()}-{secrets.token_hex(4)}"

    def hold(self) -> None:
        """Acquire the lock, once; it is held until :meth:`release` or the process's death."""
        if self._lock is None:
            self._lock = _lock(self._path(self.id))
            self._lock.acquire()

    def release(self) -> None:
        """Release the lock and delete its file."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
            self._path(self.id).unlink(missing_ok=True)

    def is_dead(self, process: str) -> bool:
        """Whether ``process`` has died while it held its lock. False if that is unknown: it exited
        cleanly, or runs on another machine."""
        from filelock import Timeout

        path = self._path(process)
        if process == self.id or not path.exists():
            return False
        lock = _lock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        lock.release()
        return True

    def clean(self, keep: Container[str]) -> None:
        """Delete the lock files of dead processes, except those in ``keep``."""
        for path in self._storage.dir.glob("*.lock"):
            if path.stem not in keep and self.is_dead(path.stem):
                path.unlink(missing_ok=True)

    def _path(self, process: str) -> Path:
        return self._storage.dir / f"{process}.lock"


def _lock(path: Path) -> BaseFileLock:
    from filelock import FileLock

    return FileLock(path, mode=0o600)
