"""How the gateway ends: a signal asks it to, a second one or too long a time makes it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from types import FrameType

CLOSING = 5.0
"""Seconds that plugins and store have after the drain."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)
INTERRUPTED = 130
"""Exit code (CONTRACT, Command line)."""


class Ending:
    """Ends the process for certain, ``drain`` + :data:`CLOSING` seconds after the first signal.

    What is then still under way is in the journal, as after any other death of the process, and
    the next start goes on with it. That holds even where a plugin blocks the event loop.
    """

    def __init__(self, drain: float) -> None:
        self._seconds = drain + CLOSING
        self._asked = threading.Event()
        self._ended = asyncio.Event()

    def listen(self) -> None:
        """Take the signals over, in the main thread and a running event loop."""
        self._loop = asyncio.get_running_loop()
        # Started here and not at the signal, which may come while a lock of `threading` is held.
        threading.Thread(target=self._make_sure, name="end", daemon=True).start()
        for number in SIGNALS:
            signal.signal(number, self._signalled)

    async def wait(self) -> None:
        """Return at the first signal."""
        await self._ended.wait()

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked.is_set():
            _say("hookline: ended at once; what was under way goes on at the next start\n")
            os._exit(INTERRUPTED)
        self._asked.set()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)

    def _make_sure(self) -> None:
        self._asked.wait()
        threading.Event().wait(self._seconds)
        _say(
            f"hookline: not everything was finished within {self._seconds:g} s; it goes on at the "
            "next start\n"
        )
        os._exit(0)


def _say(text: str) -> None:
    """Write past Python's buffers, which another thread may hold."""
    try:
        os.write(2, text.encode())
    except OSError:
        return
