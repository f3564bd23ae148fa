"""File locks between processes and between the chats of one process.

The kernel releases them when a process dies.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from .folder_state import private_folder

_RETRY_INTERVAL = 0.01
"""Seconds between two attempts."""


@asynccontextmanager
async def exclusive(path: Path) -> AsyncIterator[int]:
    """Hold the lock exclusively; yields the descriptor of the open file."""
    import fcntl

    async with _held(path, fcntl.LOCK_EX) as descriptor:
        yield descriptor


@asynccontextmanager
async def shared(path: Path) -> AsyncIterator[int]:
    """Hold the lock together with others; yields the descriptor of the open file."""
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
                await asyncio.sleep(_RETRY_INTERVAL)
        yield descriptor
    finally:
        os.close(descriptor)
