"""Shuts the gateway down at a signal, and by force at a second one or after a timeout."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from types import FrameType

CLOSE_TIMEOUT = 5.0
"""Seconds for plugins and the store to close after the drain."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)
EXIT_INTERRUPTED = 130
"""Exit code."""


class ShutdownSignals:
    """Handles SIGTERM and SIGINT, and forces the exit ``drain`` + :data:`CLOSE_TIMEOUT` seconds
    after the first one, even if a plugin blocks the event loop.

    Work that is not finished by then is in the journal, and the next start continues it.
    """

    def __init__(self, drain: float) -> None:
        self._seconds = drain + CLOSE_TIMEOUT
        self._asked = threading.Event()
        self._ended = asyncio.Event()

    def listen(self) -> None:
        """Install the signal handlers; call it in the main thread and a running event loop."""
        self._loop = asyncio.get_running_loop()
        # Started here and not at the signal, which may come while a lock of `threading` is held.
        threading.Thread(target=self._force_exit, name="end", daemon=True).start()
        for number in SIGNALS:
            signal.signal(number, self._signalled)

    async def wait(self) -> None:
        """Return at the first signal."""
        await self._ended.wait()

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked.is_set():
            _say("hookline: stopped at once; unfinished work continues at the next start\n")
            os._exit(EXIT_INTERRUPTED)
        self._asked.set()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)

    def _force_exit(self) -> None:
        self._asked.wait()
        threading.Event().wait(self._seconds)
        _say(
            f"hookline: some work did not finish within {self._seconds:g} s; it continues at the "
            "next start\n"
        )
        os._exit(0)


def _say(text: str) -> None:
    """Write without Python's buffers, which another thread may have locked."""
    try:
        os.write(2, text.encode())
    except OSError:
        return
