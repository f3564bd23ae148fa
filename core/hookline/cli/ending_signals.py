"""SIGTERM and SIGHUP end a command in order: plugins are torn down and what they started ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")
_SIGNALLED = 128
"""A shell's exit code for a program that a signal ended, minus the signal's number."""


class EndingSignals:
    """Cancels the running task at the first of these signals; the same one again ends the process.

    A signal that the process was started to ignore stays ignored (``nohup``). A command can install
    handlers of its own.
    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        """Set once a signal came."""

    @contextmanager
    def cancel_task(self) -> Iterator[None]:
        """Cancel the current task at a signal, while the block runs in a running event loop."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def end(number: int, _frame: FrameType | None) -> None:
            self.exit_code = _SIGNALLED + number
            signal.signal(number, signal.SIG_DFL)
            if task is not None and not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

        handled: list[int] = []
        with suppress(ValueError):  # not the main thread
            for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, end)
                    handled.append(number)
        try:
            yield
        finally:
            for number in handled:
                if signal.getsignal(number) is end:
                    signal.signal(number, signal.SIG_DFL)
