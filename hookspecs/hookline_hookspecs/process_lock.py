"""File locks that processes hold until they die, so that others know which are alive.

Work that a killed process left can thus be taken over at once, and slow work is not done twice.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Container
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Storage, Store, StoreError

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["ProcessLock", "gateway_lock", "is_gateway_running"]


class ProcessLock:
    """This process's lock file in a plugin's folder. ``id`` identifies the process to others."""

    def __init__(self, storage: Storage, store: Store | None = None) -> None:
        """Create the lock without acquiring it.

        ``store`` is the store of the work, if other machines may share it. Then use :meth:`join`,
        :meth:`lives` and :meth:`leave` instead of :meth:`hold`, :meth:`is_alive` and
        :meth:`release`, which only know this machine.
        """
        self._storage = storage
        self._shared = store if store is not None and store.is_shared else None
        self._joined: AsyncExitStack | None = None
        self._lock: BaseFileLock | None = None
        self.id = f"{os.getpid()}-{secrets.token_hex(4)}"

    def hold(self) -> None:
        """Acquire the lock, once. It is held until :meth:`release` or until the process dies."""
        if self._lock is None:
            self._lock = _lock(self._path(self.id))
            self._lock.acquire()

    def release(self) -> None:
        """Release the lock and delete its file."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
            self._path(self.id).unlink(missing_ok=True)

    def is_alive(self, process: str) -> bool:
        """Return True if ``process`` holds its lock."""
        if process == self.id:
            return self._lock is not None
        return _is_held(self._path(process))

    def is_dead(self, process: str) -> bool:
        """Return True if ``process`` died while it held its lock.

        False if that is unknown, because it exited cleanly or runs on another machine.
        """
        if process == self.id:
            return False
        return self._path(process).exists() and not _is_held(self._path(process))

    async def join(self) -> None:
        """Acquire the lock, once; in a shared store, also a lock that other machines see."""
        self.hold()
        if self._shared is not None and self._joined is None:
            self._joined = AsyncExitStack()
            await self._joined.enter_async_context(self._shared.own(f"process:{self.id}", 0.0))

    async def lives(self, process: str) -> bool:
        """Return True if ``process`` holds its lock, on any machine."""
        if self._shared is None or process == self.id or self.is_alive(process):
            return self.is_alive(process)
        try:
            async with self._shared.own(f"process:{process}", 0.0):
                return False
        except StoreError:
            return True

    async def leave(self) -> None:
        """Release the lock everywhere."""
        self.release()
        if self._joined is not None:
            joined, self._joined = self._joined, None
            await joined.aclose()

    def clean(self, keep: Container[str] = ()) -> None:
        """Delete the lock files of dead processes, except those in ``keep``."""
        for path in self._storage.dir.glob("*.lock"):
            if path.stem not in keep and self.is_dead(path.stem):
                path.unlink(missing_ok=True)

    def _path(self, process: str) -> Path:
        return self._storage.dir / f"{process}.lock"


def gateway_lock(home: Path) -> BaseFileLock:
    """Return the lock of a home, without acquiring it: there is one gateway per home."""
    return _lock(home / "gateway.lock")


def is_gateway_running(home: Path) -> bool:
    """Return whether a gateway is running on this home."""
    return _is_held(home / "gateway.lock")


def _is_held(path: Path) -> bool:
    from filelock import Timeout

    if not path.exists():
        return False
    lock = _lock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def _lock(path: Path) -> BaseFileLock:
    from filelock import FileLock

    return FileLock(path, mode=0o600)
