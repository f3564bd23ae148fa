"""The running requests, which end at once when their sender is signed out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Host
from hookline_hookspecs.web import Identity, Problem

ACCESS_CHECK_SECONDS = 1.0
"""Seconds between two checks whether the readers of streams are still allowed in; another process
may have signed them out."""


@dataclass(slots=True)
class ActiveRequest:
    """A running request. ``check`` identifies its sender again, and raises ``Problem``."""

    who: Identity
    check: Callable[[], Awaitable[Identity]]
    is_stream: bool = False
    is_ended: bool = False


class ActiveRequests:
    """The running requests of people and clients.

    Args:
        host: the plugin's host.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._works: dict[asyncio.Task[Any], ActiveRequest] = {}

    @contextmanager
    def track(
        self, who: Identity, check: Callable[[], Awaitable[Identity]]
    ) -> Iterator[ActiveRequest]:
        """Track the current task as a request."""
        task = asyncio.current_task()
        assert task is not None
        work = self._works[task] = ActiveRequest(who, check)
        try:
            yield work
        finally:
            self._works.pop(task, None)

    def count(self) -> int:
        """Return the number of running requests."""
        return len(self._works)

    def end_device(self, device: str) -> None:
        """End the requests of a device, except the one that signs it out."""
        for task, work in list(self._works.items()):
            if work.who.device == device and task is not asyncio.current_task():
                _end(task, work)

    def end_streams(self) -> None:
        """End all streams because the server stops. Browsers reconnect by themselves."""
        for task, work in list(self._works.items()):
            if work.is_stream:
                _end(task, work)

    async def watch(self) -> None:
        """Keep ending the streams of people who are no longer allowed in."""
        while True:
            await asyncio.sleep(ACCESS_CHECK_SECONDS)
            allowed: dict[Identity, bool] = {}  # one check for all tabs of a person
            for task, work in list(self._works.items()):
                if not work.is_stream or work.is_ended:
                    continue
                if work.who not in allowed:
                    allowed[work.who] = await self._may_stay(work)
                    await asyncio.sleep(0)  # let other tasks run
                if not allowed[work.who]:
                    _end(task, work)

    async def _may_stay(self, work: ActiveRequest) -> bool:
        try:
            return await work.check() == work.who
        except Problem:
            return False
        except Exception as error:
            self._host.log.warning("cannot check whether a stream may continue: %s", error)
            return True


def _end(task: asyncio.Task[Any], work: ActiveRequest) -> None:
    work.is_ended = True
    task.cancel()
