"""Shows the typing indicator while a turn of a chat runs. Errors are ignored."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from .client import PlatformClient
from .rate_limiter import RateLimiter

MAX_TYPING_SECONDS = 3600.0
"""Seconds after which the indicator is no longer shown."""


class TypingIndicator:
    """Shows the indicator repeatedly, once per chat, for any number of its turns.

    Args:
        client: the platform.
        rates: nothing is shown while the platform pauses requests.
        interval: seconds between two requests.
        spawn: runs a task in the background.
    """

    def __init__(
        self,
        client: PlatformClient,
        rates: RateLimiter,
        interval: float,
        spawn: Callable[..., asyncio.Task[Any]],
    ) -> None:
        self._client, self._rates, self._interval, self._spawn = client, rates, interval, spawn
        self._turns: dict[str, set[str]] = {}
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def start(self, chat: str, turn: str) -> None:
        """Start for a turn."""
        self._turns.setdefault(chat, set()).add(turn)
        if chat not in self._tasks:
            self._tasks[chat] = self._spawn(self._run(chat), "typing")

    def stop(self, chat: str, turn: str) -> None:
        """Stop for a turn that has ended or whose reply was sent."""
        turns = self._turns.get(chat, set())
        turns.discard(turn)
        if not turns:
            self._turns.pop(chat, None)
            if task := self._tasks.pop(chat, None):
                task.cancel()

    def stop_all(self) -> None:
        """Stop in every chat."""
        tasks, self._tasks = list(self._tasks.values()), {}
        self._turns.clear()
        for task in tasks:
            task.cancel()

    async def _run(self, chat: str) -> None:
        ends = asyncio.get_running_loop().time() + MAX_TYPING_SECONDS
        request: asyncio.Task[Any] | None = None
        try:
            while chat in self._turns and asyncio.get_running_loop().time() < ends:
                if await self._rates.try_acquire(chat, "typing"):
                    request = self._spawn(self._quietly(self._client.show_typing(chat)), "typing")
                    await asyncio.wait({request})  # so that a cancellation does not abort a request
                await asyncio.sleep(self._interval)
        finally:
            if request is not None:
                self._spawn(self._hide(chat, request), "hide typing")

    async def _hide(self, chat: str, request: asyncio.Task[Any]) -> None:
        """Hide the indicator, unless another turn of the chat has started meanwhile."""
        await asyncio.wait({request})
        if chat not in self._turns:
            await self._quietly(self._client.hide_typing(chat))

    async def _quietly(self, work: Awaitable[None]) -> None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._interval * 2):
                await work
