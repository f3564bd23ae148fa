"""Reads lines of standard input in a daemon thread.

The SDK's own reader blocks in a thread that asyncio joins, so Ctrl-C would wait for a line.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

MAX_LINE_BYTES = 8_000_000
"""Bytes of a line; a longer one ends the connection."""
MAX_QUEUED_LINES = 16
"""Lines that are read ahead."""


def take_stdin() -> int:
    """Return a copy of the descriptor of standard input, and make descriptor 0 empty, so that child
    processes cannot read the protocol."""
    taken = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return taken


class StdinLines:
    """The lines of a descriptor, as an asynchronous file for the SDK.

    Args:
        descriptor: the descriptor to read until it ends.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_QUEUED_LINES)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield each line."""
        while (line := await self._queue.get()) is not None:
            yield line

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            for line in self._split():
                self._put(line.decode("utf-8", "replace"))
            self._put(None)

    def _put(self, line: str | None) -> None:
        putting = self._queue.put(line)
        try:
            waiting = asyncio.run_coroutine_threadsafe(putting, self._loop)
        except RuntimeError:
            putting.close()
            raise
        waiting.result()

    def _split(self) -> Iterator[bytes]:
        rest = bytearray()
        with suppress(OSError):
            while piece := os.read(self._descriptor, 65_536):
                *whole, last = piece.split(b"\n")
                for line in whole:
                    yield bytes(rest) + line
                    rest.clear()
                rest += last
                if len(rest) > MAX_LINE_BYTES:
                    return
        if rest:
            yield bytes(rest)
