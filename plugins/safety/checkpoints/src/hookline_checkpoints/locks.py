"""Locks between processes, and between the chats of one: a file that is locked while it is open.

The kernel frees them when a process dies, so that none is ever left behind.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from .state import private_folder

_EVERY = 0.01
"""Seconds between two attempts."""


@asynccontextmanager
async def exclusive(path: Path) -> AsyncIterator[int]:
    """Wait until nobody else holds the lock; the open file while it is held."""
    import fcntl

    async with _held(path, fcntl.LOCK_EX) as descriptor:
        yield descriptor


@asynccontextmanager
async def shared(path: Path) -> AsyncIterator[int]:
    """Wait until nobody holds the lock exclusively; others may share it."""
    import fcntl

    async with _held(path, fcntl.LOCK_SH) as descriptor:
        yield descriptor


@asynccontextmanager
async def _held(path: Path, kind: int) -> AsyncIterator[int]:
    import fcntl

    private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_EVERY)
        yield descriptor
    finally:
        os.close(descriptor)
