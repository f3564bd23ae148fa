"""Somebody is typing, while a turn of the chat runs. Nothing that fails here hurts anybody."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from .rates import Rates
from .wire import Wire

LONGEST = 3600.0
"""Seconds after which nobody believes in it any more."""


class Presence:
    """Shows it again and again, once for each chat, however many of its turns wait.

    Args:
        wire: the platform.
        rates: silent while the platform wants nothing.
        every: seconds between two shows.
        spawn: runs a task in the background.
    """

    def __init__(
        self, wire: Wire, rates: Rates, every: float, spawn: Callable[..., asyncio.Task[Any]]
    ) -> None:
        self._wire, self._rates, self._every, self._spawn = wire, rates, every, spawn
        self._turns: dict[str, set[str]] = {}
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def begin(self, chat: str, turn: str) -> None:
        """A turn runs."""
        self._turns.setdefault(chat, set()).add(turn)
        if chat not in self._tasks:
            self._tasks[chat] = self._spawn(self._show(chat), "typing")

    def end(self, chat: str, turn: str) -> None:
        """It has ended, or its reply has left."""
        turns = self._turns.get(chat, set())
        turns.discard(turn)
        if not turns:
            self._turns.pop(chat, None)
            if task := self._tasks.pop(chat, None):
                task.cancel()

    def stop(self) -> None:
        """Show nothing any more."""
        tasks, self._tasks = list(self._tasks.values()), {}
        self._turns.clear()
        for task in tasks:
            task.cancel()

    async def _show(self, chat: str) -> None:
        ends = asyncio.get_running_loop().time() + LONGEST
        showing: asyncio.Task[Any] | None = None
        try:
            while chat in self._turns and asyncio.get_running_loop().time() < ends:
                if await self._rates.may_now(chat, "typing"):
                    showing = self._spawn(self._quietly(self._wire.typing(chat)), "typing")
                    await asyncio.wait({showing})  # a request is not broken off half-way
                await asyncio.sleep(self._every)
        finally:
            if showing is not None:
                self._spawn(self._rest(chat, showing), "typed")

    async def _rest(self, chat: str, showing: asyncio.Task[Any]) -> None:
        """Show it no more, unless another turn of the chat has begun meanwhile."""
        await asyncio.wait({showing})
        if chat not in self._turns:
            await self._quietly(self._wire.typed(chat))

    async def _quietly(self, work: Awaitable[None]) -> None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._every * 2):
                await work
