"""How fast requests may go: each kind in each chat, and in all; and the time a platform asks to
wait."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from aiolimiter import AsyncLimiter

from .errors import RetryAfter
from .limits import Kind, Limits, Rate

KEPT = 1024
"""Chats whose pace is remembered; beyond it those that could send at once are forgotten."""
LONGEST = 3600.0
"""Seconds of a :class:`RetryAfter` that are believed."""
ALL = ""
"""In place of a chat: every one."""
_Held: TypeAlias = tuple[str, Kind | None]


class Rates:
    """Paces what is sent: evenly, without bursts, so that no window of a platform overflows."""

    def __init__(self, limits: Limits) -> None:
        shared = _Pace(Rate(limits.per_chat, limits.overall))
        self._paces: dict[Kind, _Pace] = {"text": shared, "edit": shared, "file": shared}
        self._paces |= {kind: _Pace(rate) for kind, rate in limits.rates.items()}
        self._held: dict[_Held, float] = {}
        """Until when nothing of a kind (None: of any) goes to a chat, by the loop's clock."""

    async def wait(self, chat: str, kind: Kind = "text") -> None:
        """Return when such a request may be made in the chat, and count it."""
        while True:
            if pause := self._pause(chat, kind):
                await asyncio.sleep(pause)
                continue
            if (pace := self._paces.get(kind)) is not None:
                await pace.acquire(chat)
            if not self._pause(chat, kind):
                return

    async def may_now(self, chat: str, kind: Kind = "text") -> bool:
        """True if such a request may be made in the chat at once; it is counted then."""
        if self._pause(chat, kind):
            return False
        pace = self._paces.get(kind)
        return pace is None or await pace.acquire_now(chat)

    def is_held(self, chat: str, kind: Kind = "text") -> bool:
        """True while the platform wants nothing of this kind in this chat."""
        return self._pause(chat, kind) > 0

    def hold(self, chat: str, error: RetryAfter) -> None:
        """Make no such request in the chat for a time; in none if the platform says so, or if it
        has refused another chat too."""
        now = asyncio.get_running_loop().time()
        until = now + min(error.retry_after, LONGEST)
        self._held = {name: end for name, end in self._held.items() if end > now}
        is_wide = error.scope == "workspace" or any(name != chat for name, _ in self._held)
        for name in [chat, ALL] if is_wide else [chat]:
            key = (name, error.kind)
            self._held[key] = max(until, self._held.get(key, 0.0))

    def _pause(self, chat: str, kind: Kind) -> float:
        if not self._held:
            return 0.0
        keys = [(name, one) for name in (chat, ALL) for one in (kind, None)]
        until = max(self._held.get(key, 0.0) for key in keys)
        return max(0.0, until - asyncio.get_running_loop().time()) if until else 0.0


class _Pace:
    """One rate, in each chat and in all."""

    def __init__(self, rate: Rate) -> None:
        self._per_chat = rate.per_chat
        self._overall = _limiter(rate.overall)
        self._chats: dict[str, AsyncLimiter] = {}

    async def acquire(self, chat: str) -> None:
        await self._of(chat).acquire()
        await self._overall.acquire()

    async def acquire_now(self, chat: str) -> bool:
        if not (self._of(chat).has_capacity() and self._overall.has_capacity()):
            return False
        await self.acquire(chat)
        return True

    def _of(self, chat: str) -> AsyncLimiter:
        if chat not in self._chats:
            if len(self._chats) >= KEPT:
                busy = {n: one for n, one in self._chats.items() if not one.has_capacity()}
                self._chats = busy
            self._chats[chat] = _limiter(self._per_chat)
        return self._chats[chat]


def _limiter(rate: float) -> AsyncLimiter:
    """One request in each ``1 / rate`` seconds; 0 stands for no limit."""
    return AsyncLimiter(1, 1 / rate if rate > 0 else 1e-6)
