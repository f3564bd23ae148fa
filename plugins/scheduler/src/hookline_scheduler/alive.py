"""Which processes live: each that runs jobs holds a lock, which the system frees when it dies.

Unlike a time stamp, this holds when the clock is set, or the machine sleeps.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Storage

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Mark:
    """This process's own lock, in the plugin's folder."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock: BaseFileLock | None = None
        self.id = f"{os.getpid()}-{secrets.token_hex(4)}"

    def set(self) -> None:
        """From here on this process lives for the others."""
        if self._lock is None:
            self._lock = _lock(self._path(self.id))
            self._lock.acquire(timeout=0)

    def take_away(self) -> None:
        """This process works on nothing any more."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
            self._path(self.id).unlink(missing_ok=True)

    def lives(self, process: str) -> bool:
        """Whether the process that wrote ``process`` is still there."""
        if process == self.id:
            return self._lock is not None
        from filelock import Timeout

        path = self._path(process)
        if not path.exists():
            return False
        lock = _lock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        path.unlink(missing_ok=True)
        return False

    def _path(self, process: str) -> Path:
        return self._storage.dir / f"{process}.lock"


def _lock(path: Path) -> BaseFileLock:
    from filelock import FileLock

    return FileLock(path, mode=0o600)
