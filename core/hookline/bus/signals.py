"""Sends signals through blinker and isolates their receivers from each other."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import blinker
from hookline_hookspecs import PluginFailure

from ..bus.implementation import describe, reraise_control_flow
from ..tasks import PLUGIN_TASK_GRACE, BackgroundTasks, plugin_task

log = logging.getLogger("hookline.signals")


class SignalHub:
    """Signals by name. A receiver is called as ``receiver(event, ctx=ctx)``.

    A receiver with an attribute ``plugin`` belongs to that plugin; all others belong to core.
    """

    def __init__(self) -> None:
        self._space = blinker.Namespace()
        self._tasks = BackgroundTasks()
        self._calling: set[Any] = set()
        self._recursive: set[Any] = set()

    async def aclose(self) -> None:
        """Cancel asynchronous receivers that are still running."""
        await self._tasks.cancel(PLUGIN_TASK_GRACE)

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

    def send_failure(
        self, plugin: str, hook: str, reason: str, *, ctx: Any = None, off: bool = False
    ) -> None:
        """Send ``plugin_failed``."""
        self.send("plugin_failed", PluginFailure(plugin, hook, reason, off), ctx)

    def send(self, name: str, event: object, ctx: Any = None) -> None:
        """Call every receiver. If one raises, the error is logged and the others are still called.

        A receiver is not called for a signal that it sends itself, directly or indirectly.
        """
        found = self._space.get(name)
        if found is None or not found.receivers:
            return
        for receiver in list(found.receivers_for(blinker.ANY)):
            source = f"plugin {getattr(receiver, 'plugin', 'core')}: a receiver of signal {name}"
            if receiver in self._calling:
                if receiver not in self._recursive:
                    self._recursive.add(receiver)
                    log.warning("%s sends that signal again", source)
                continue
            self._calling.add(receiver)
            try:
                result = receiver(event, ctx=ctx)
                if inspect.iscoroutine(result):
                    task = self._tasks.keep(plugin_task(result))
                    task.add_done_callback(partial(_report_failure, source))
            except BaseException as error:
                reraise_control_flow(error)
                _warn(source, error)
            finally:
                self._calling.discard(receiver)


def _report_failure(source: str, task: asyncio.Task[Any]) -> None:
    if task.cancelled():
        if not task.cancelling():  # no cancellation was requested, so this is a failure
            _warn(source, asyncio.CancelledError())
    elif (error := task.exception()) is not None:
        _warn(source, error)


def _warn(source: str, error: BaseException) -> None:
    log.warning("%s failed: %s", source, describe(error))
