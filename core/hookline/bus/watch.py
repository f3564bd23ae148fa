"""Logs and interrupts plugin code that blocks the event loop.

Core notes what it is running (:class:`Watched`); a daemon thread checks twice a second. Code that
has not returned for a second is logged with its plugin. Past its deadline, the timeout is raised in
the thread that runs the event loop: in the main thread by a signal, which also ends a blocking
system call; elsewhere as an asynchronous exception, which the interpreter delivers at its next
bytecode.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from types import FrameType
from typing import Any, Protocol

log = logging.getLogger("hookline.bus")
LOOK_EVERY = 0.5
"""Seconds between checks."""
LOOKS = 3
"""Consecutive checks of the same step after which it is logged as blocking the event loop."""
_SIGNAL: Any = getattr(signal, "SIGURG", None)
"""Ignored by default and rarely used, so it is unlikely to replace another handler."""


class Watched(Protocol):
    """What core is running. ``running`` has ``plugin`` and ``where``, or is None; ``until`` is a
    value of ``time.perf_counter``; ``timeout`` is raised in code that is late."""

    running: Any
    until: float
    timeout: type[BaseException]


def watch(watched: Watched) -> Callable[[], None]:
    """Watch the calling thread; the returned function ends it and restores the signal's handler."""
    watchdog = _Watchdog(watched)
    watchdog.start()
    return watchdog.stop


class _Watchdog:
    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._target = threading.get_ident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="hookline-watchdog", daemon=True)
        self._previous: Any = None

    def start(self) -> None:
        in_main = threading.main_thread().ident == self._target
        if in_main and _SIGNAL is not None and hasattr(signal, "pthread_kill"):
            self._previous = signal.signal(_SIGNAL, self._on_signal)
        self._thread.start()

    def stop(self) -> None:
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        if self._previous is not None and threading.get_ident() == self._target:
            signal.signal(_SIGNAL, self._previous)
            self._previous = None

    def _look(self) -> None:
        last, looks = None, 0
        while not self._stop.wait(LOOK_EVERY):
            step = self._watched.running, self._watched.until
            looks = looks + 1 if step == last else 1
            last = step
            if step[0] is not None and looks == LOOKS:
                self._name(step[0])
            if self._is_late():
                self._interrupt()

    def _name(self, what: Any) -> None:
        frame = sys._current_frames().get(self._target)
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "unknown"
        log.warning("plugin %s blocks the event loop in %s (%s)", what.plugin, what.where, place)

    def _is_late(self) -> bool:
        return self._watched.running is not None and perf_counter() > self._watched.until

    def _interrupt(self) -> None:
        if self._previous is not None:
            signal.pthread_kill(self._target, _SIGNAL)
        else:
            target, error = ctypes.c_ulong(self._target), ctypes.py_object(self._watched.timeout)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(target, error)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        # Check again: the hook may have returned before the signal was delivered.
        if self._is_late():
            self._watched.until = perf_counter() + LOOK_EVERY
            raise self._watched.timeout
