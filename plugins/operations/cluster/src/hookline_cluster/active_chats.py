"""The chats that this process works on: one owner for each, in the order of arrival.

What comes in while a chat is at hand is looked for at once, so that ``/stop``, ``/steer`` and
answers reach the turn that is under way, in the process that runs it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from hookline_hookspecs import Fenced, GatewayHost, HooklineError, Host, StoreError
from hookline_hookspecs.drivers import Store

from .files import share_work
from .queue import Queue

log = logging.getLogger("hookline.plugin.cluster")
ARRIVED = "cluster:arrived"
"""The topic of chats with something new."""
PAUSE, LONGEST_PAUSE = 1.0, 15.0
"""Seconds after which work that failed is tried again; the pause doubles until something works."""


def key_of(channel: str, chat_id: str) -> str:
    """The key of a chat."""
    return json.dumps([channel, chat_id], ensure_ascii=False, separators=(",", ":"))


class Lanes:
    """The chats at hand.

    Args:
        host: the plugin's host.
        is_open: whether a chat has a message that nobody has.
        files: the folder that machines share, for the chats' own.
    """

    def __init__(
        self, host: Host, is_open: Callable[[str, str], Awaitable[bool]], files: Path | None = None
    ) -> None:
        self._home, self._files = host.home, files
        self._store, self._core = host.services[Store], host.services[GatewayHost]
        self._is_open = is_open
        self._at_hand: dict[str, asyncio.Event] = {}
        self.queue: Queue
        self.is_ending = False
        """Begin with nothing new."""

    @property
    def count(self) -> int:
        """How many chats are at hand."""
        return len(self._at_hand)

    def look(self, key: str) -> None:
        """Something new is there for a chat; for any, if ``key`` is empty."""
        for name, woken in self._at_hand.items():
            if key in ("", name):
                woken.set()

    async def drain(self, key: str) -> None:
        """Do what there is to do in a chat, unless another process is at it, which is told then.

        A chat stays at hand while the database fails: what this process has claimed of it nobody
        else may do, and what came later has to wait for that.

        Raises:
            StoreError: the database fails before or after that; the sweep finds what is left.
        """
        if key in self._at_hand:
            return self.look(key)
        if self.is_ending:
            return await self._hand_on(key)
        async with AsyncExitStack() as owned:
            try:
                await owned.enter_async_context(self._store.own(f"lane:{key}", 0.0))
            except StoreError:
                return await self._store.notify(ARRIVED, key)
            woken = self._at_hand[key] = asyncio.Event()
            try:
                await self._work(key, woken)
            finally:
                del self._at_hand[key]
        # What came between the last look and now had this process as the owner.
        await self._hand_on(key)
        return None

    async def _hand_on(self, key: str) -> None:
        channel, chat_id = json.loads(key)
        if await self._is_open(channel, chat_id):
            await self.queue.defer(key)

    async def _work(self, key: str, woken: asyncio.Event) -> None:
        channel, chat_id = json.loads(key)
        if self._files is not None:
            try:
                share_work(self._home, self._files, channel, chat_id)
            except HooklineError as error:
                log.warning("files of this chat stay on this machine: %s", error)
        tasks: set[asyncio.Future[object]] = set()
        pause = PAUSE
        while True:
            woken.clear()
            failed = False
            if not (self.is_ending and not tasks):
                try:
                    begun = await self._core.recover(channel, chat_id)
                    tasks |= {asyncio.ensure_future(task) for task in begun}
                except Fenced:
                    raise
                except StoreError as error:
                    log.warning("what there is to do in %s cannot be looked for: %s", key, error)
                    failed = True
            if not tasks and (self.is_ending or not failed):
                return
            ended = await _some(tasks, woken) if tasks else set()
            tasks -= ended
            failed |= any(not task.cancelled() and task.exception() is not None for task in ended)
            if failed:
                await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE) if failed else PAUSE


async def _some(
    tasks: set[asyncio.Future[object]], woken: asyncio.Event
) -> set[asyncio.Future[object]]:
    """Wait until some tasks have ended, which are returned, or there is something new."""
    waking = asyncio.ensure_future(woken.wait())
    try:
        both: set[asyncio.Future[Any]] = {waking, *tasks}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waking.cancel()
    return {task for task in tasks if task.done()}
