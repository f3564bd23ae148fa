"""Passes payloads published under a topic to the tasks of this process that listen to it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

MAX_WAITING_PAYLOADS = 10_000
"""Maximum number of payloads that wait for a slow listener; the oldest are dropped."""


class Payloads:
    """Iterates without end over the payloads of one topic published since its creation."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[str] = asyncio.Queue()

    def put(self, payload: str) -> None:
        """Add a payload. Call it in the listener's event loop."""
        if self._waiting.qsize() >= MAX_WAITING_PAYLOADS:
            self._waiting.get_nowait()
        self._waiting.put_nowait(payload)

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        return await self._waiting.get()


class Topics:
    """The listeners by topic. Any thread may publish."""

    def __init__(self) -> None:
        self._listening: defaultdict[str, list[Payloads]] = defaultdict(list)

    def names(self) -> list[str]:
        """The topics that have listeners."""
        return list(self._listening)

    @contextmanager
    def listen(self, topic: str) -> Iterator[Payloads]:
        """Listen to the payloads of ``topic`` from now on."""
        payloads = Payloads()
        self._listening[topic] = [*self._listening[topic], payloads]
        try:
            yield payloads
        finally:
            others = [other for other in self._listening[topic] if other is not payloads]
            if others:
                self._listening[topic] = others
            else:
                del self._listening[topic]

    def publish(self, topic: str, payload: str) -> None:
        """Send ``payload`` to all listeners of ``topic``."""
        for payloads in self._listening.get(topic, ()):
            if not payloads.loop.is_closed():
                payloads.loop.call_soon_threadsafe(payloads.put, payload)
