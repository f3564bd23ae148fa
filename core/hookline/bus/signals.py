"""Telling, afterwards: blinker signals whose receivers are isolated from each other."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

import blinker

from ..bus.implementation import describe, is_fault

log = logging.getLogger("hookline.signals")


class SignalHub:
    """Signals by name. A receiver is called as ``receiver(event, ctx=ctx)``."""

    def __init__(self) -> None:
        self._space = blinker.Namespace()
        self._tasks: set[asyncio.Future[Any]] = set()
        self._calling: set[Any] = set()

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe; the hub keeps the receiver alive."""
        self._space.signal(name).connect(receiver, weak=False)

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe."""
        self._space.signal(name).disconnect(receiver)

    def heard(self, name: str) -> bool:
        """True if anybody listens."""
        found = self._space.get(name)
        return found is not None and bool(found.receivers)

    def send(self, name: str, event: object, ctx: Any = None) -> None:
        """Call every receiver; one that raises is logged and the others still hear."""
        found = self._space.get(name)
        if found is None or not found.receivers:
            return
        for receiver in list(found.receivers_for(blinker.ANY)):
            if receiver in self._calling:
                continue  # it hears what it has sent itself: that would never end
            self._calling.add(receiver)
            try:
                result = receiver(event, ctx=ctx)
                if inspect.isawaitable(result):
                    self._keep(name, receiver, asyncio.ensure_future(result))
            except BaseException as error:
                if not is_fault(error):
                    raise
                self._failed(name, receiver, error)
            finally:
                self._calling.discard(receiver)

    async def aclose(self) -> None:
        """Cancel what asynchronous receivers still do."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @staticmethod
    def _failed(name: str, receiver: Any, error: BaseException) -> None:
        plugin, reason = getattr(receiver, "plugin", "core"), describe(error)
        log.warning("plugin %s: a receiver of signal %s failed: %s", plugin, name, reason)

    def _keep(self, name: str, receiver: Any, task: asyncio.Future[Any]) -> None:
        self._tasks.add(task)

        def done(finished: asyncio.Future[Any]) -> None:
            self._tasks.discard(finished)
            if not finished.cancelled() and (error := finished.exception()) is not None:
                self._failed(name, receiver, error)

        task.add_done_callback(done)
