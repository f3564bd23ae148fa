"""Logs and interrupts plugin code that blocks the event loop.

The bus marks what it is running; a daemon thread checks twice a second. Code that has not returned
for a second is logged with its plugin. Past its deadline, :class:`HookTimeout` is raised in the
thread that runs the event loop: in the main thread by a signal, which also ends a blocking system
call; elsewhere as an asynchronous exception, which the interpreter delivers at its next bytecode.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType
from typing import Any, TypeAlias

log = logging.getLogger("hookline.bus")
STEP_LIMIT = 30.0
"""Seconds one step may block the event loop if there is no deadline."""
LOOK_EVERY = 0.5
"""Seconds between checks."""
LOOKS = 3
"""Consecutive checks of the same step after which it is logged as blocking the event loop."""
_SIGNAL: Any = getattr(signal, "SIGURG", None)
"""Ignored by default and rarely used, so it is unlikely to replace another handler."""


class HookTimeout(BaseException):
    """A hook exceeded its deadline. Not an `Exception`, so hooks do not catch it by accident."""


@dataclass(slots=True, eq=False)
class PluginCode:
    """A plugin's code that can be watched.

    ``where`` identifies it, such as ``tool greet``; ``deadline`` is in seconds, or None.
    """

    plugin: str
    where: str
    deadline: float | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        return f"plugin {self.plugin}: {self.where}"


Watched: TypeAlias = "tuple[PluginCode | None, float]"


class Watchdog:
    """Watches the thread of an event loop. ``begin`` and ``end`` only set two attributes."""

    def __init__(self) -> None:
        self.running: PluginCode | None = None
        """The plugin code that is running, if any."""
        self._until = 0.0
        """When it must have returned, in the time of ``time.perf_counter``."""
        self._target = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._previous: Any = None

    def call(self, what: PluginCode, function: Callable[..., Any], /, *args: Any, **kw: Any) -> Any:
        """Call ``function``, the code of ``what``, then resume watching the caller.

        Raises:
            HookTimeout: it blocked for longer than its deadline, or ``STEP_LIMIT`` without one.
        """
        before = self.begin(what)
        try:
            return function(*args, **kw)
        finally:
            self.end(before)

    def begin(self, what: PluginCode) -> Watched:
        """Start watching ``what``; with :meth:`end`, a :meth:`call` without the extra call.

        Returns what was watched before, to pass to :meth:`end`; hooks may call hooks.
        """
        before = self.running, self._until
        self._until = perf_counter() + (what.deadline or STEP_LIMIT)
        self.running = what
        return before

    def end(self, before: Watched) -> None:
        """Stop watching what was running and resume watching its caller."""
        self.running, self._until = before

    def start(self) -> None:
        """Watch the calling thread. Does nothing if already started."""
        if self._thread is not None:
            return
        self._target = threading.get_ident()
        in_main = threading.main_thread().ident == self._target
        if in_main and _SIGNAL is not None and hasattr(signal, "pthread_kill"):
            self._previous = signal.signal(_SIGNAL, self._on_signal)
        self._stop.clear()
        self._thread = threading.Thread(target=self._look, name="hookline-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching and restore the signal's handler."""
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        self._thread = None
        if self._previous is not None and threading.get_ident() == self._target:
            signal.signal(_SIGNAL, self._previous)
            self._previous = None

    def _look(self) -> None:
        last, looks = None, 0
        while not self._stop.wait(LOOK_EVERY):
            step = self.running, self._until
            looks = looks + 1 if step == last else 1
            last = step
            if step[0] is not None and looks == LOOKS:
                self._name(step[0])
            if self._is_late():
                self._interrupt()

    def _name(self, what: PluginCode) -> None:
        frame = sys._current_frames().get(self._target)
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "unknown"
        log.warning("plugin %s blocks the event loop in %s (%s)", what.plugin, what.where, place)

    def _is_late(self) -> bool:
        return self.running is not None and perf_counter() > self._until

    def _interrupt(self) -> None:
        if self._previous is not None:
            signal.pthread_kill(self._target, _SIGNAL)
        else:
            target, error = ctypes.c_ulong(self._target), ctypes.py_object(HookTimeout)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(target, error)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        # Check again: the hook may have returned before the signal was delivered.
        if self._is_late():
            self._until = perf_counter() + LOOK_EVERY
            raise HookTimeout
