"""Limits the number of concurrent requests and shares it fairly among chats."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

MAX_PER_CHAT = 8
"""Maximum number of concurrent requests of one chat."""
MAX_TOTAL = 64
"""Maximum number of concurrent requests. The connection pool allows more (see `_inside`)."""
_inside: ContextVar[bool] = ContextVar("hookline_guards_inside", default=False)
"""True inside a request that holds a slot. Requests that it makes itself, such as for robots.txt,
must not wait for another slot."""


class RequestSlots:
    """Allows `per_chat` concurrent requests for each chat and `total` for all; others wait.

    Requests of a chat are served in order, and chats in turn.
    """

    def __init__(self, per_chat: int = MAX_PER_CHAT, total: int = MAX_TOTAL) -> None:
        self._per_chat = per_chat
        self._total = total
        self._busy: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def slot(self, chat: str) -> AsyncIterator[None]:
        """Wait for a slot for `chat`, and hold it during the ``async with`` block."""
        if _inside.get():
            yield
            return
        await self._enter(chat)
        _inside.set(True)
        try:
            yield
        finally:
            _inside.set(False)
            self._leave(chat)

    async def _enter(self, chat: str) -> None:
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(chat, deque()).append(slot)
        self._assign_slots()
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self._leave(chat)
            raise

    def _leave(self, chat: str) -> None:
        self._busy[chat] -= 1
        if not self._busy[chat]:
            del self._busy[chat]
        self._assign_slots()

    def _assign_slots(self) -> None:
        while self._busy.total() < self._total:
            chat = next((c for c in self._waiting if self._busy[c] < self._per_chat), None)
            if chat is None:
                return
            waiting = self._waiting.pop(chat)
            slot = waiting.popleft()
            if waiting:
                self._waiting[chat] = waiting  # behind the other chats
            if not slot.cancelled():
                self._busy[chat] += 1
                slot.set_result(None)
