"""Standard input as lines, read by a thread that a signal need not wait for.

The SDK's own reader blocks in a thread that asyncio joins, so that Ctrl-C would wait for a line.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

LONGEST = 8_000_000
"""Bytes of a line; one that is longer ends the connection."""
AHEAD = 16
"""Lines that are read before they are wanted."""


def take_stdin() -> int:
    """Return a descriptor of standard input, which programs that are started find empty."""
    taken = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return taken


class Lines:
    """The lines of a descriptor, as the SDK reads them from a file.

    Args:
        descriptor: is read until it ends.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield each line."""
        while (line := await self._queue.get()) is not None:
            yield line

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
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
                if len(rest) > LONGEST:
                    return
        if rest:
            yield bytes(rest)
