"""Owning a session among processes: a file lock that the system drops when its holder dies."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from hookline_hookspecs.errors import StoreError

POLL_SECONDS = 0.05
LONGEST_NAME = 200
"""Characters of a file name before it is hashed; file systems take 255 bytes."""


@asynccontextmanager
async def own(folder: Path, session_id: str, seconds: float) -> AsyncIterator[None]:
    """Hold the lock of ``session_id``; two tasks of one process exclude each other, too.

    Raises ``StoreError`` that names the holder after ``seconds``.
    """
    path = folder / _name(session_id)
    deadline = time.monotonic() + seconds
    try:
        _make(folder)
        while (release := _try(path)) is None:
            if time.monotonic() >= deadline:
                raise StoreError(f"Session {session_id} is in use by {_holder(path)}.")
            await asyncio.sleep(POLL_SECONDS)
    except OSError as error:
        raise StoreError(
            f"The lock {path} cannot be made ({error.strerror}). Check the folder's permissions."
        ) from error
    try:
        yield
    finally:
        release()


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _name(session_id: str) -> str:
    """The file name of a session's lock: percent-encoded, hashed when that is long."""
    name = quote(session_id, safe="", errors="surrogatepass")
    if len(name) > LONGEST_NAME:
        name = hashlib.sha256(name.encode()).hexdigest()
    return f"{name}.lock"


def _holder(path: Path) -> str:
    try:
        pid, started = path.read_text().split()
        since = time.strftime("%H:%M:%S", time.localtime(float(started)))
    except (OSError, ValueError):
        return "another process"
    return f"process {pid} since {since}"


if sys.platform == "win32":

    def _try(path: Path) -> Callable[[], None] | None:
        from filelock import FileLock, Timeout

        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        return lock.release

else:
    import fcntl

    def _try(path: Path) -> Callable[[], None] | None:
        """Take the lock; what releases it, or None. The file holds pid and time of the holder."""
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(descriptor)
                if isinstance(error, BlockingIOError):
                    return None
                raise
            if os.fstat(descriptor).st_nlink:
                break
            os.close(descriptor)  # its holder removed the file while we opened it
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {time.time()}".encode(), 0)

        def release() -> None:
            # Removed while held: whoever opened it meanwhile sees that it has no name any more.
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)

        return release
