"""Ownership among processes: a file lock that the system releases when its holder dies.

The lock is SQLite's own lock on an empty database, so it works wherever the store works. A file
``.holder`` beside it names the holder. The lock file is never removed, because others may be
waiting for it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

from hookline_hookspecs.drivers import Ownership
from hookline_hookspecs.errors import StoreError

from .connection import SqliteConnection, make_private

POLL_SECONDS = 0.05
HOLD = ("BEGIN EXCLUSIVE",)
PROBE = ("BEGIN", "SELECT 1 FROM sqlite_master")


@asynccontextmanager
async def own(path: Path, key: str, what: str, seconds: float) -> AsyncIterator[Ownership]:
    """Hold the lock ``path``; tasks of the same process also exclude each other.

    Negative ``seconds`` only test whether it is held; such tests do not exclude each other.

    Raises:
        StoreError: others held it for ``seconds``. The error names the holder and ``what``.
    """
    holder = path.with_suffix(".holder")
    deadline = time.monotonic() + seconds
    make_private(path)
    with closing(SqliteConnection(path, sqlite3.connect)) as lock:
        lock.execute("PRAGMA busy_timeout = 0")
        while not _taken(lock, PROBE if seconds < 0 else HOLD):
            if time.monotonic() >= deadline:
                raise StoreError(f"{what} is in use by {_name(holder)}.")
            await asyncio.sleep(POLL_SECONDS)
        if seconds < 0:
            yield Ownership(key, 0)
            return
        try:
            with suppress(OSError):  # on a full disk, the holder has no name
                holder.write_text(f"process {os.getpid()} since {time.strftime('%H:%M:%S')}")
            yield Ownership(key, time.time_ns())
        finally:
            holder.unlink(missing_ok=True)


def _name(holder: Path) -> str:
    with suppress(OSError):  # the lock may just have been released
        return holder.read_text()
    return "another process"


def _taken(lock: SqliteConnection, how: tuple[str, ...]) -> bool:
    try:
        for statement in how:
            lock.execute(statement)
    except StoreError as error:
        if getattr(error.__cause__, "sqlite_errorcode", 0) != sqlite3.SQLITE_BUSY:
            raise
        lock.rollback()
        return False
    return True
