"""Signals: notifications through blinker, with receivers isolated from each other."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import blinker
from hookline_hookspecs import PluginFailure

from ..bus.deadline import plugin_task
from ..bus.implementation import describe, expect_fault
from ..bus.watchdog import PluginCode, Watchdog
from ..tasks import BackgroundTasks

log = logging.getLogger("hookline.signals")


class SignalHub:
    """Signals by name. A receiver is called as ``receiver(event, ctx=ctx)``.

    A receiver with an attribute ``plugin`` belongs to that plugin, any other to core.
    """

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog
        self._space = blinker.Namespace()
        self._tasks = BackgroundTasks()
        self.aclose = self._tasks.cancel
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

    def send_failure(self, plugin: str, hook: str, reason: str, *, ctx: Any = None, off: bool = False) -> None:
        """Send ``plugin_failed``."""
        self.send("plugin_failed", PluginFailure(plugin, hook, reason, off), ctx)

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
                    task = plugin_task(result, self._watchdog, work)
                    self._tasks.keep(task).add_done_callback(partial(_done, work))
            except BaseException as error:
                expect_fault(error)
                _warn(work, error)
            finally:
                self._calling.discard(receiver)


def _done(work: PluginCode, task: asyncio.Task[Any]) -> None:
    if task.cancelled():
        if not task.cancelling():  # nobody requested it, so it is a failure
            _warn(work, asyncio.CancelledError())
    elif (error := task.exception()) is not None:
        _warn(work, error)


def _warn(work: PluginCode, error: BaseException) -> None:
    log.warning("%s failed: %s", work, describe(error))
