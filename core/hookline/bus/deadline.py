"""Runs plugins' coroutines step by step, within a deadline, and closes those that do not stop.

Most hooks return without waiting for anything. ``asyncio.timeout`` around each of them would cost
more than the hook itself (28 µs instead of 4 µs for ten, measured), so the caller runs the first
step directly, and a deadline is set only if the coroutine suspends.

A coroutine stays in the task that started it, because timeouts and task groups inside it belong to
that task.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import closing, suppress
from typing import Any, TypeAlias, cast

from ..bus.watchdog import HookTimeout, PluginCode, Watchdog

log = logging.getLogger("hookline.bus")
GRACE = 3.0
"""Seconds a cancelled hook or background task has to clean up before it is closed."""
SLOW = 3.0
"""Seconds after which the person is shown which plugin is slow."""
_NOT_STARTED: Any = object()
Slow: TypeAlias = "Callable[[], None] | None"
"""Called once, after ``SLOW`` seconds."""


class Deadline:
    """Cancels the current task after ``seconds``, and again if the coroutine does not stop.

    After a cancellation by this deadline or from outside, the coroutine has ``GRACE`` seconds; then
    :attr:`is_over` is set and the task is cancelled again. A timeout inside the coroutine also
    cancels the task, but undoes it once handled; it does not count. ``slow`` is called once, after
    ``SLOW`` seconds.
    """

    def __init__(self, seconds: float | None, slow: Slow = None) -> None:
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._loop = asyncio.get_running_loop()
        self._before = self._task.cancelling()
        self.cancels = 0
        """How many times this deadline has cancelled the task."""
        self.is_over = False
        self._timers: list[asyncio.TimerHandle] = []
        self._grace: asyncio.TimerHandle | None = None
        if slow is not None and (seconds is None or seconds > SLOW):
            self._timers.append(self._loop.call_later(SLOW, slow))
        if seconds is not None:
            self._timers.append(self._loop.call_later(seconds, self._cancel))

    def _cancel(self) -> None:
        self.cancels += 1
        self._task.cancel()

    def _end(self) -> None:
        self.is_over = True
        self._cancel()

    def begin_grace(self) -> None:
        """Start the grace period; called before ``CancelledError`` is thrown into the coroutine."""
        if self._grace is None and self._task.cancelling() > self._before:
            self._grace = self._loop.call_later(GRACE, self._end)

    def check_grace(self) -> None:
        """Stop the grace period if a step of the coroutine has undone its own cancellation."""
        if self._grace is not None and self._task.cancelling() <= self._before:
            self._grace.cancel()
            self._grace = None

    def close(self) -> None:
        """Stop the timers and undo this deadline's own cancellations."""
        for timer in (*self._timers, self._grace):
            if timer is not None:
                timer.cancel()
        for _ in range(self.cancels):
            self._task.uncancel()

    @property
    def cancelled_outside(self) -> bool:
        """True if something else has cancelled the task; valid after :meth:`close`."""
        return self._task.cancelling() > self._before


async def finish(coroutine: Any, waiting_for: Any, watchdog: Watchdog, what: PluginCode, slow: Slow = None) -> Any:
    """Return the result of a coroutine whose first step waits for ``waiting_for``.

    Raises:
        HookTimeout: it took longer than the deadline of ``what``.
        CancelledError: the task was cancelled, even if the coroutine suppressed it.
    """
    deadline, failure = Deadline(what.deadline, slow), None
    try:
        return await drive(coroutine, watchdog, what, deadline, waiting_for)
    except BaseException as error:
        failure = error
        raise
    finally:
        deadline.close()
        if deadline.cancelled_outside:
            raise asyncio.CancelledError from failure
        if deadline.cancels and isinstance(failure, asyncio.CancelledError):
            raise HookTimeout from failure


@types.coroutine
def drive(
    coroutine: Any,
    watchdog: Watchdog,
    what: PluginCode,
    deadline: Deadline | None = None,
    waiting_for: Any = _NOT_STARTED,
) -> Generator[Any, Any, Any]:
    """Return the result of a coroutine, watching each of its steps.

    Passes what it waits for to the event loop, and the result back to the coroutine.
    """
    step, argument = coroutine.send, None
    while True:
        if waiting_for is not _NOT_STARTED:
            try:
                step, argument = coroutine.send, (yield waiting_for)
            except BaseException as error:
                step, argument = coroutine.throw, error
                if deadline is not None and isinstance(error, asyncio.CancelledError):
                    if deadline.is_over:
                        _close(coroutine, what)
                        raise
                    deadline.begin_grace()
        try:
            waiting_for = watchdog.call(what, step, argument)
        except StopIteration as stop:
            return stop.value
        if deadline is not None:
            deadline.check_grace()


def _close(coroutine: Any, what: PluginCode) -> None:
    log.warning("%s did not stop within %g s of its cancellation and was ended", what, GRACE)
    with suppress(BaseException):
        coroutine.close()


def plugin_task(
    coroutine: Coroutine[Any, Any, Any], watchdog: Watchdog, what: PluginCode, **options: Any
) -> asyncio.Task[Any]:
    """Create a task for a plugin, closed if it does not stop and unable to exit the process."""
    if not asyncio.iscoroutine(coroutine):
        raise TypeError(f"a coroutine was expected, got {coroutine!r}")
    work = _contained(coroutine, watchdog, what)
    work.__name__ = getattr(coroutine, "__name__", "work")  # type: ignore[attr-defined]
    task = asyncio.Task(work, loop=asyncio.get_running_loop(), **options)
    task.add_done_callback(lambda _: coroutine.close())  # it may not have been started
    return task


async def _contained(coroutine: Any, watchdog: Watchdog, what: PluginCode) -> Any:
    try:
        with closing(Deadline(None)) as deadline:
            return await drive(coroutine, watchdog, what, deadline)
    except (SystemExit, HookTimeout) as error:  # SystemExit in a task would end the event loop
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


class CoreTask(asyncio.Task[Any]):
    """A task of core that plugin code running in it cannot cancel."""

    watchdog: Watchdog

    def cancel(self, msg: Any = None) -> bool:
        """Cancel the task. Raises ``RuntimeError`` if called by the plugin that it is running."""
        if self.watchdog.running is not None and asyncio.current_task(self.get_loop()) is self:
            caller = str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0]
            if caller not in ("asyncio", "hookline"):
                raise RuntimeError("a plugin may not cancel the task that it runs in")
        return super().cancel(msg)
