"""Who may send next: a bounded number of requests at once, shared out fairly among chats."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

EACH = 8
"""Requests of one chat at once."""
TOTAL = 64
"""Requests of all chats at once; the connection pool has room for more (see `_inside`)."""
_inside: ContextVar[bool] = ContextVar("hookline_guards_inside", default=False)
"""True in a request that has its turn: what it asks for meanwhile, such as robots.txt, must not
wait for the very turn that it holds."""


class Turns:
    """Lets in `each` requests of a chat and `total` of all chats; the others wait.

    Within a chat the first to come is the first to be let in; among chats it goes round.
    """

    def __init__(self, each: int = EACH, total: int = TOTAL) -> None:
        self._each = each
        self._total = total
        self._busy: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, chat: str) -> AsyncIterator[None]:
        """Wait for a turn of `chat` and hold it for the block."""
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
        coming: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(chat, deque()).append(coming)
        self._let_in()
        try:
            await coming
        except asyncio.CancelledError:
            if coming.done() and not coming.cancelled():
                self._leave(chat)
            raise

    def _leave(self, chat: str) -> None:
        self._busy[chat] -= 1
        if not self._busy[chat]:
            del self._busy[chat]
        self._let_in()

    def _let_in(self) -> None:
        while self._busy.total() < self._total:
            chat = next((one for one in self._waiting if self._busy[one] < self._each), None)
            if chat is None:
                return
            waiting = self._waiting.pop(chat)
            coming = waiting.popleft()
            if waiting:
                self._waiting[chat] = waiting  # behind the other chats
            if not coming.cancelled():
                self._busy[chat] += 1
                coming.set_result(None)
