"""How fast messages may go: in each chat, and in all; and the time a platform asks to wait."""

from __future__ import annotations

import asyncio

from aiolimiter import AsyncLimiter

from .errors import RetryAfter
from .wire import Limits

KEPT = 1024
"""Chats whose pace is remembered; beyond it those that could send at once are forgotten."""
LONGEST = 3600.0
"""Seconds of a :class:`RetryAfter` that are believed."""


class Rates:
    """Paces what is sent: evenly, without bursts, so that no window of a platform overflows."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._overall = _limiter(limits.overall)
        self._chats: dict[str, AsyncLimiter] = {}
        self._held: dict[str, float] = {}
        """Until when nothing goes to a chat, by the loop's clock; under ``""`` to any."""

    async def wait(self, chat: str) -> None:
        """Return when a message may go to the chat, and count it."""
        while True:
            if pause := self._pause(chat):
                await asyncio.sleep(pause)
                continue
            await self._of(chat).acquire()
            await self._overall.acquire()
            if not self._pause(chat):
                return

    async def may_now(self, chat: str) -> bool:
        """True if a message may go to the chat at once; it is counted then."""
        if self._pause(chat) or not self._of(chat).has_capacity():
            return False
        if not self._overall.has_capacity():
            return False
        await self._of(chat).acquire()
        await self._overall.acquire()
        return True

    def is_held(self, chat: str) -> bool:
        """True while the platform wants nothing of this chat."""
        return self._pause(chat) > 0

    def hold(self, chat: str, error: RetryAfter) -> None:
        """Send nothing to the chat for a time; to none if the platform says so, or if it has
        refused another chat too."""
        now = asyncio.get_running_loop().time()
        until = now + min(error.retry_after, LONGEST)
        self._held = {name: end for name, end in self._held.items() if end > now}
        names = [chat, ""] if error.overall or any(name != chat for name in self._held) else [chat]
        for name in names:
            self._held[name] = max(until, self._held.get(name, 0.0))

    def _pause(self, chat: str) -> float:
        until = max(self._held.get(chat, 0.0), self._held.get("", 0.0))
        return max(0.0, until - asyncio.get_running_loop().time()) if until else 0.0

    def _of(self, chat: str) -> AsyncLimiter:
        if chat not in self._chats:
            if len(self._chats) >= KEPT:
                busy = {n: one for n, one in self._chats.items() if not one.has_capacity()}
                self._chats = busy
            self._chats[chat] = _limiter(self._limits.per_chat)
        return self._chats[chat]


def _limiter(rate: float) -> AsyncLimiter:
    """One message in each ``1 / rate`` seconds; 0 stands for no limit."""
    return AsyncLimiter(1, 1 / rate if rate > 0 else 1e-6)
