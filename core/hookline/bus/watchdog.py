"""What plugin code the bus is running, and until when it may: for the service ``watchdog``.

The service, in its own thread, logs code that blocks the event loop and raises :class:`HookTimeout`
in it past its deadline. Without one, such code is neither named nor interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeAlias

STEP_LIMIT = 30.0
"""Seconds one step may block the event loop if there is no deadline."""


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

    timeout = HookTimeout
    """What is raised in code that is late."""

    def __init__(self) -> None:
        self.running: PluginCode | None = None
        """The plugin code that is running, if any."""
        self.until = 0.0
        """When it must have returned, in the time of ``time.perf_counter``."""

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
        before = self.running, self.until
        self.until = perf_counter() + (what.deadline or STEP_LIMIT)
        self.running = what
        return before

    def end(self, before: Watched) -> None:
        """Stop watching what was running and resume watching its caller."""
        self.running, self.until = before
