"""The chats that this process works on. Each chat has one owner at a time.

Messages that arrive meanwhile are processed at once, so that ``/stop``, ``/steer`` and answers
reach the running turn in the process that runs it.
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

from .chat_queue import ChatQueue
from .shared_folder import share_work

log = logging.getLogger("hookline.plugin.cluster")
ARRIVED_TOPIC = "cluster:arrived"
"""The topic on which chats with new messages are announced."""
RETRY_PAUSE = 1.0
MAX_RETRY_PAUSE = 15.0
"""Seconds before failed work is retried; the pause doubles up to the maximum."""


def chat_key(channel: str, chat_id: str) -> str:
    """The key of a chat in the queue."""
    return json.dumps([channel, chat_id], ensure_ascii=False, separators=(",", ":"))


class ActiveChats:
    """The chats that this process works on.

    Args:
        host: the plugin's host.
        is_open: whether a chat has a message that no process has claimed.
        files: the folder that machines share, if any.
    """

    def __init__(
        self, host: Host, is_open: Callable[[str, str], Awaitable[bool]], files: Path | None
    ) -> None:
        self._home = host.home
        self._files = files
        self._store = host.services[Store]
        self._core = host.services[GatewayHost]
        self._is_open = is_open
        self._active: dict[str, asyncio.Event] = {}
        self.queue: ChatQueue
        self.is_ending = False
        """True once no new work may begin."""

    @property
    def count(self) -> int:
        """The number of chats that this process works on."""
        return len(self._active)

    def wake(self, key: str) -> None:
        """Make the work on a chat check for new messages; on all chats, if ``key`` is empty."""
        for name, changed in self._active.items():
            if key in ("", name):
                changed.set()

    async def drain(self, key: str) -> None:
        """Process all messages of a chat, unless another process owns it, which is notified then.

        The chat stays active while the database fails: no other process may take over what this one
        has claimed, and later messages must wait for it.

        Raises:
            StoreError: the database failed before or after that. A later sweep finds the rest.
        """
        if key in self._active:
            return self.wake(key)
        if self.is_ending:
            return await self._requeue(key)
        async with AsyncExitStack() as owned:
            try:
                await owned.enter_async_context(self._store.own(f"lane:{key}", 0.0))
            except StoreError:
                return await self._store.notify(ARRIVED_TOPIC, key)
            changed = self._active[key] = asyncio.Event()
            try:
                await self._work(key, changed)
            finally:
                del self._active[key]
        # Messages that arrived just before the chat was released were announced to this process.
        await self._requeue(key)
        return None

    async def _requeue(self, key: str) -> None:
        channel, chat_id = json.loads(key)
        if await self._is_open(channel, chat_id):
            await self.queue.defer(key)

    async def _work(self, key: str, changed: asyncio.Event) -> None:
        channel, chat_id = json.loads(key)
        if self._files is not None:
            try:
                share_work(self._home, self._files, channel, chat_id)
            except HooklineError as error:
                log.warning("this chat's files stay on this machine: %s", error)
        tasks: set[asyncio.Future[object]] = set()
        pause = RETRY_PAUSE
        while True:
            changed.clear()
            failed = False
            if not (self.is_ending and not tasks):
                try:
                    begun = await self._core.recover(channel, chat_id)
                    tasks |= {asyncio.ensure_future(task) for task in begun}
                except Fenced:
                    raise
                except StoreError as error:
                    log.warning("cannot look for work in %s: %s", key, error)
                    failed = True
            if not tasks and (self.is_ending or not failed):
                return
            ended = await _wait_for_any(tasks, changed) if tasks else set()
            tasks -= ended
            failed |= any(not task.cancelled() and task.exception() is not None for task in ended)
            if failed:
                await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_PAUSE) if failed else RETRY_PAUSE


async def _wait_for_any(
    tasks: set[asyncio.Future[object]], changed: asyncio.Event
) -> set[asyncio.Future[object]]:
    """Wait until a task ends or something new arrives; return the tasks that have ended."""
    waking = asyncio.ensure_future(changed.wait())
    try:
        both: set[asyncio.Future[Any]] = {waking, *tasks}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waking.cancel()
    return {task for task in tasks if task.done()}
