"""What is published under a topic, on its way to the tasks of this process that listen for it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

KEPT = 10_000
"""Payloads that wait for a slow listener at most; the oldest of more are dropped."""


class Payloads:
    """Yields the payloads of one topic, from the moment it was made; never ends by itself."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[str] = asyncio.Queue()

    def put(self, payload: str) -> None:
        """Add a payload; on the loop of who listens."""
        if self._waiting.qsize() >= KEPT:
            self._waiting.get_nowait()
        self._waiting.put_nowait(payload)

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        return await self._waiting.get()


class Topics:
    """Who listens for what. Safe to publish to from any thread."""

    def __init__(self) -> None:
        self._listening: defaultdict[str, list[Payloads]] = defaultdict(list)

    def names(self) -> list[str]:
        """The topics that somebody listens for."""
        return list(self._listening)

    @contextmanager
    def listen(self, topic: str) -> Iterator[Payloads]:
        """The payloads of ``topic`` from now on."""
        payloads = Payloads()
        self._listening[topic] = [*self._listening[topic], payloads]
        try:
            yield payloads
        finally:
            left = [one for one in self._listening[topic] if one is not payloads]
            if left:
                self._listening[topic] = left
            else:
                del self._listening[topic]

    def publish(self, topic: str, payload: str) -> None:
        """Hand ``payload`` to everybody who listens for ``topic``."""
        for payloads in self._listening.get(topic, ()):
            if not payloads.loop.is_closed():
                payloads.loop.call_soon_threadsafe(payloads.put, payload)
