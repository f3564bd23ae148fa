"""Signals: notifications through blinker, with receivers isolated from each other."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

import blinker

from ..bus.deadline import plugin_task
from ..bus.implementation import describe, is_fault
from ..bus.watchdog import PluginCode, Watchdog

log = logging.getLogger("hookline.signals")


class SignalHub:
    """Signals by name. A receiver is called as ``receiver(event, ctx=ctx)``.

    A receiver with an attribute ``plugin`` belongs to that plugin, any other to core.
    """

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog
        self._space = blinker.Namespace()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._calling: set[Any] = set()
        self._recursive: set[Any] = set()

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe a receiver; the hub keeps a strong reference to it."""
        self._space.signal(name).connect(receiver, weak=False)

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe a receiver."""
        self._recursive.discard(receiver)
        self._space.signal(name).disconnect(receiver)

    def has_receivers(self, name: str) -> bool:
        """Return True if the signal has receivers."""
        return bool(self._space.signal(name).receivers)

    def send(self, name: str, event: object, ctx: Any = None) -> None:
        """Call every receiver; one that raises is logged and the others are still called.

        A receiver is not called for a signal that it sends itself, directly or indirectly.
        """
        found = self._space.get(name)
        if found is None or not found.receivers:
            return
        for receiver in list(found.receivers_for(blinker.ANY)):
            work = PluginCode(getattr(receiver, "plugin", "core"), f"a receiver of signal {name}")
            if receiver in self._calling:
                if receiver not in self._recursive:
                    self._recursive.add(receiver)
                    log.warning("%s sends that signal again", work)
                continue
            self._calling.add(receiver)
            try:
                result = self._watchdog.call(work, receiver, event, ctx=ctx)
                if inspect.iscoroutine(result):
                    self._keep(work, plugin_task(result, self._watchdog, work))
            except BaseException as error:
                if not is_fault(error):
                    raise
                log.warning("%s failed: %s", work, describe(error))
            finally:
                self._calling.discard(receiver)

    async def aclose(self) -> None:
        """Cancel asynchronous receivers that are still running."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep(self, work: PluginCode, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)

        def done(finished: asyncio.Task[Any]) -> None:
            self._tasks.discard(finished)
            if not finished.cancelled():
                error = finished.exception()
            else:  # a cancellation that nobody requested is a failure
                error = None if finished.cancelling() else asyncio.CancelledError()
            if error is not None:
                log.warning("%s failed: %s", work, describe(error))

        task.add_done_callback(done)
