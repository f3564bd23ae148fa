"""Ownership of sessions among processes: byte-range locks in one file.

The system releases them when a process dies. One open file serves all sessions of a process. POSIX
releases a process's locks when it closes *any* descriptor of the file, so all stores of a home
share one descriptor, which is closed with the last of them.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from hookline_hookspecs.drivers import Ownership
from hookline_hookspecs.errors import StoreError

from .connection import make_private
from .locks import POLL_SECONDS

NOTE_COUNT = 4096
"""Number of notes at the beginning of the file, in which holders describe themselves."""
NOTE_BYTES = 64
"""Size of a note."""
_files: dict[str, LockFile] = {}


class LockFile:
    """The lock file of a home, shared by the stores of this process (see `open_file`)."""

    def __init__(self, path: Path) -> None:
        make_private(path)
        self.path = str(path)
        self.users = 0
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._held: set[int] = set()

    def close(self) -> None:
        """Close the file for one store; with the last one, close the descriptor."""
        self.users -= 1
        if not self.users:
            _files.pop(self.path, None)
            os.close(self._descriptor)

    @asynccontextmanager
    async def own(self, name: str, what: str, seconds: float) -> AsyncIterator[Ownership]:
        """Hold the lock ``name``; tasks of the same process also exclude each other.

        Negative ``seconds`` only test whether it is held; such tests do not exclude each other.

        Raises:
            StoreError: others held it for ``seconds``. The error names the holder and ``what``.
        """
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "big") >> 2
        deadline = time.monotonic() + seconds
        kind = fcntl.LOCK_SH if seconds < 0 else fcntl.LOCK_EX
        while number in self._held or not self._taken(number, kind):
            if time.monotonic() >= deadline:
                raise StoreError(f"{what} is in use by {self._holder(number)}.")
            await asyncio.sleep(POLL_SECONDS)
        try:
            if seconds < 0:
                yield Ownership(name, 0)
                return
            self._held.add(number)
            with suppress(OSError):  # on a full disk, the holder has no name
                text = f"process {os.getpid()} since {time.strftime('%H:%M:%S')}"
                os.pwrite(self._descriptor, text.ljust(NOTE_BYTES).encode(), _note_offset(number))
            yield Ownership(name, time.time_ns())
        finally:
            self._held.discard(number)
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, number)

    def _holder(self, number: int) -> str:
        note = os.pread(self._descriptor, NOTE_BYTES, _note_offset(number)).rstrip(b"\0 ")
        return note.decode("utf-8", "replace") or "another process"

    def _taken(self, number: int, kind: int) -> bool:
        try:
            fcntl.lockf(self._descriptor, kind | fcntl.LOCK_NB, 1, number)
        except (BlockingIOError, PermissionError):
            return False
        return True


def _note_offset(number: int) -> int:
    return number % NOTE_COUNT * NOTE_BYTES


def open_file(path: Path) -> LockFile:
    """The lock file at ``path``, opened on first use in this process."""
    file = _files.get(str(path))
    if file is None:
        file = _files[str(path)] = LockFile(path)
    file.users += 1
    return file
