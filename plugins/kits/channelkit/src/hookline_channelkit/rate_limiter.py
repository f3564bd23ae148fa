"""Limits the rate of requests by kind, in each chat and overall; keeps the platform's pauses."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from aiolimiter import AsyncLimiter

from .containers import BoundedDict
from .errors import RetryAfter
from .limits import Kind, Limits, Rate

MAX_CHATS = 1024
"""Chats whose rate is kept; beyond that, chats that could send at once are forgotten."""
MAX_RETRY_AFTER = 3600.0
"""A longer ``RetryAfter`` is cut to these seconds."""
ALL_CHATS = ""
"""Stands for every chat."""
HOUR = 3600.0
_PauseKey: TypeAlias = tuple[str, Kind | None]


class RateLimiter:
    """Spreads requests evenly, without bursts, so that no time window of a platform overflows.

    Args:
        limits: the rates of the platform.
    """

    def __init__(self, limits: Limits) -> None:
        shared = _Pace(Rate(limits.per_chat, limits.overall))
        self._paces: dict[Kind, _Pace] = {"text": shared, "edit": shared, "file": shared}
        self._paces |= {kind: _Pace(rate) for kind, rate in limits.rates.items()}
        self._paused_until: dict[_PauseKey, float] = {}
        """When the pause of a chat and kind of request (None: any) ends, by the loop's clock."""

    async def acquire(self, chat: str, kind: Kind = "text") -> None:
        """Wait until the chat may have a request of this kind, and count it."""
        while True:
            if pause := self._pause_left(chat, kind):
                await asyncio.sleep(pause)
                continue
            if (pace := self._paces.get(kind)) is not None:
                await pace.acquire(chat)
            if not self._pause_left(chat, kind):
                return

    async def try_acquire(self, chat: str, kind: Kind = "text") -> bool:
        """Return whether the chat may have such a request at once, and count it then."""
        if self._pause_left(chat, kind):
            return False
        pace = self._paces.get(kind)
        return pace is None or await pace.try_acquire(chat)

    def is_paused(self, chat: str, kind: Kind = "text") -> bool:
        """Whether the platform currently refuses requests of this kind in this chat."""
        return self._pause_left(chat, kind) > 0

    def pause(self, chat: str, error: RetryAfter) -> None:
        """Pause requests in a chat.

        All chats pause if the platform says so, or if it refuses another chat too.
        """
        now = asyncio.get_running_loop().time()
        until = now + min(error.retry_after, MAX_RETRY_AFTER)
        self._paused_until = {key: end for key, end in self._paused_until.items() if end > now}
        is_wide = error.scope == "workspace" or any(one != chat for one, _ in self._paused_until)
        for name in [chat, ALL_CHATS] if is_wide else [chat]:
            key = (name, error.kind)
            self._paused_until[key] = max(until, self._paused_until.get(key, 0.0))

    def _pause_left(self, chat: str, kind: Kind) -> float:
        if not self._paused_until:
            return 0.0
        keys = [(name, one) for name in (chat, ALL_CHATS) for one in (kind, None)]
        until = max(self._paused_until.get(key, 0.0) for key in keys)
        return max(0.0, until - asyncio.get_running_loop().time()) if until else 0.0


class _Pace:
    """One rate, in each chat and overall."""

    def __init__(self, rate: Rate) -> None:
        self._per_chat = rate.per_chat
        self._overall = _limiter(rate.overall)
        self._chats: dict[str, AsyncLimiter] = {}

    async def acquire(self, chat: str) -> None:
        await self._of(chat).acquire()
        await self._overall.acquire()

    async def try_acquire(self, chat: str) -> bool:
        if not (self._of(chat).has_capacity() and self._overall.has_capacity()):
            return False
        await self.acquire(chat)
        return True

    def _of(self, chat: str) -> AsyncLimiter:
        if chat not in self._chats:
            if len(self._chats) >= MAX_CHATS:
                busy = {name: one for name, one in self._chats.items() if not one.has_capacity()}
                self._chats = busy
            self._chats[chat] = _limiter(self._per_chat)
        return self._chats[chat]


def _limiter(rate: float) -> AsyncLimiter:
    """Return a limiter of one request per ``1 / rate`` seconds; 0 means no limit."""
    return AsyncLimiter(1, 1 / rate if rate > 0 else 1e-6)


class HourlyLimit:
    """Limits each sender's messages per hour, so that two bots do not answer each other forever.

    Args:
        max_messages: messages per hour.
    """

    def __init__(self, max_messages: int) -> None:
        self._max_messages = max_messages
        self._times: BoundedDict[str, dict[str, float]] = BoundedDict()

    def allows(self, sender: str, message: str, at: float) -> bool:
        """Return whether a message of the Unix time ``at`` is within the limit.

        The answer for the same message stays the same.
        """
        times = self._times.get(sender, {})
        recent = {one: when for one, when in times.items() if when > at - HOUR}
        if message not in recent and len(recent) >= self._max_messages:
            return False
        self._times[sender] = {**recent, message: at}
        return True
