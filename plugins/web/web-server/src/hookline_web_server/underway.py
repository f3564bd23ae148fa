"""Requests under way, so that those of who may not come in any more end at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Host
from hookline_hookspecs.web import Identity, Problem

LOOK_SECONDS = 1.0
"""Between two looks at whether a stream's reader may still come in; another process may have logged
them out."""


@dataclass(slots=True)
class Work:
    """A request of somebody; ``check`` says again who they are, and raises ``Problem``."""

    who: Identity
    check: Callable[[], Awaitable[Identity]]
    is_stream: bool = False
    is_ended: bool = False


class UnderWay:
    """The requests under way of people and clients.

    Args:
        host: the plugin's host.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._works: dict[asyncio.Task[Any], Work] = {}

    @contextmanager
    def entered(self, who: Identity, check: Callable[[], Awaitable[Identity]]) -> Iterator[Work]:
        """Know the running task as somebody's request."""
        task = asyncio.current_task()
        assert task is not None
        work = self._works[task] = Work(who, check)
        try:
            yield work
        finally:
            self._works.pop(task, None)

    def count(self) -> int:
        """Return how many requests are under way."""
        return len(self._works)

    def end_device(self, device: str) -> None:
        """End what a device has under way, except the request that logs it out."""
        for task, work in list(self._works.items()):
            if work.who.device == device and task is not asyncio.current_task():
                _end(task, work)

    def end_streams(self) -> None:
        """End all streams, because the server stops; browsers come back by themselves."""
        for task, work in list(self._works.items()):
            if work.is_stream:
                _end(task, work)

    async def watch(self) -> None:
        """End the streams of who may not come in any more, for ever."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            judged: dict[Identity, bool] = {}  # eight tabs of a person are one question
            for task, work in list(self._works.items()):
                if not work.is_stream or work.is_ended:
                    continue
                if work.who not in judged:
                    judged[work.who] = await self._may_stay(work)
                    await asyncio.sleep(0)  # others may go on in between
                if not judged[work.who]:
                    _end(task, work)

    async def _may_stay(self, work: Work) -> bool:
        try:
            return await work.check() == work.who
        except Problem:
            return False
        except Exception as error:
            self._host.log.warning("whether a stream may go on is not known: %s", error)
            return True


def _end(task: asyncio.Task[Any], work: Work) -> None:
    work.is_ended = True
    task.cancel()
