"""Runs plugins' coroutines step by step: watched, within a deadline, and ended if they cling.

Most hooks return without waiting for anything. ``asyncio.timeout`` around each of them would cost
more than the hook (28 µs against 4 µs for ten, measured); so the caller takes the first step by
hand, and a deadline is armed only when the coroutine really suspends.

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
"""Seconds a cancelled hook or background task may take to clean up before it is ended."""
SLOW = 3.0
"""Seconds after which the person is told who is waited for."""
_NOT_STARTED: Any = object()
Slow: TypeAlias = "Callable[[], None] | None"
"""Called once, after ``SLOW`` seconds."""


class Deadline:
    """Cancels the current task after ``seconds``, and ends a coroutine that goes on all the same.

    A cancellation by this deadline or from outside leaves the coroutine ``GRACE`` seconds; then
    :attr:`is_over` is true and the task is cancelled once more. A timeout inside the coroutine
    cancels the task too, and takes that back when it has been handled; it does not count. ``slow``
    is called once, after ``SLOW`` seconds.
    """

    def __init__(self, seconds: float | None, slow: Slow = None) -> None:
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._loop = asyncio.get_running_loop()
        self._before = self._task.cancelling()
        self.cancels = 0
        """How often this deadline has cancelled the task."""
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
        """The coroutine is about to be told that its task was cancelled."""
        if self._grace is None and self._task.cancelling() > self._before:
            self._grace = self._loop.call_later(GRACE, self._end)

    def check_grace(self) -> None:
        """The coroutine has made a step; a cancellation that was its own may be taken back."""
        if self._grace is not None and self._task.cancelling() <= self._before:
            self._grace.cancel()
            self._grace = None

    def close(self) -> None:
        """Disarm, and take back the cancellations that were not asked for from outside."""
        for timer in (*self._timers, self._grace):
            if timer is not None:
                timer.cancel()
        for _ in range(self.cancels):
            self._task.uncancel()

    @property
    def cancelled_outside(self) -> bool:
        """True if something else has cancelled the task meanwhile; for after :meth:`close`."""
        return self._task.cancelling() > self._before


async def finish(
    coroutine: Any, waiting_for: Any, watchdog: Watchdog, what: PluginCode, slow: Slow = None
) -> Any:
    """The result of a coroutine whose first step waits for ``waiting_for``.

    Raises:
        HookTimeout: it took longer than the deadline of ``what``.
        CancelledError: the task was cancelled, whatever the coroutine made of that.
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
    """The result of a coroutine, each of whose steps is watched.

    Passes what it waits for to the event loop, and what comes back to the coroutine.
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
    """A task of a plugin's own: watched, ended if it clings, and unable to exit the process."""
    if not asyncio.iscoroutine(coroutine):
        raise TypeError(f"a coroutine was expected, got {coroutine!r}")
    work = _contained(coroutine, watchdog, what)
    work.__name__ = getattr(coroutine, "__name__", "work")  # type: ignore[attr-defined]
    task = asyncio.Task(work, loop=asyncio.get_running_loop(), **options)
    task.add_done_callback(lambda _: coroutine.close())  # it may never have been started
    return task


async def _contained(coroutine: Any, watchdog: Watchdog, what: PluginCode) -> Any:
    try:
        with closing(Deadline(None)) as deadline:
            return await drive(coroutine, watchdog, what, deadline)
    except (SystemExit, HookTimeout) as error:  # SystemExit in a task would end the event loop
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


class CoreTask(asyncio.Task[Any]):
    """A task of core, which a plugin's code cannot cancel while it runs in it."""

    watchdog: Watchdog

    def cancel(self, msg: Any = None) -> bool:
        """Cancel the task. Raises ``RuntimeError`` for a plugin that it runs at the moment."""
        if self.watchdog.running is not None and asyncio.current_task(self.get_loop()) is self:
            caller = str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0]
            if caller not in ("asyncio", "hookline"):
                raise RuntimeError("a plugin may not cancel the task that it runs in")
        return super().cancel(msg)
