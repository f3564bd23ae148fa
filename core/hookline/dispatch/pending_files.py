"""Messages that wait in the inbox for their files.

A message with files is stored at once in the state ``files_pending``, so that its channel can
acknowledge it. Its files are fetched afterwards, and later messages of the chat wait behind it.
Then it is processed like any other message.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hookline_hookspecs import FetchFiles, Inbound, crash

from ..engine import Engine
from ..text import clean

log = logging.getLogger("hookline.dispatch")
RETRY_PAUSE = 10.0
"""Seconds between attempts after a failure of the fetch or the store."""


@dataclass(slots=True)
class _Pending:
    """A message in the state ``files_pending``."""

    inbox_id: str
    inbound: Inbound
    files: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class _Queue:
    """The pending messages of a chat, oldest first, and the task that completes them."""

    waiting: deque[_Pending] = field(default_factory=deque)
    worker: asyncio.Task[Any] | None = None


class PendingFiles:
    """Stores messages with files and completes them, one by one in each chat.

    Args:
        engine: the shared parts of the process.
        begin: stores a completed message under its inbox id and starts processing it.
    """

    def __init__(self, engine: Engine, begin: Callable[[Inbound, str], Awaitable[None]]) -> None:
        self._engine = engine
        self._begin = begin
        self._fetchers: dict[str, FetchFiles] = {}
        self._queues: dict[tuple[str, str], _Queue] = {}

    def is_behind(self, inbound: Inbound) -> bool:
        """True if a message must wait behind one that waits for files. Presses never wait."""
        return (inbound.channel, inbound.chat_id) in self._queues and inbound.kind != "press"

    async def receive(self, inbound: Inbound, files: Sequence[Mapping[str, Any]]) -> bool:
        """Store a message in the state ``files_pending``; False if it is a repeat."""
        inbox_id, write = self._engine.journal.receive(inbound, durable=True, files=files)
        if not await write:
            return False
        crash.point("after-commit")
        self._add(_Pending(inbox_id, inbound, files))
        return True

    async def withdraw(self, channel: str, chat_id: str, message_id: str) -> bool:
        """Remove a pending message; False if there is none."""
        queue = self._queues.get((channel, chat_id), _Queue())
        for pending in queue.waiting:
            if pending.inbound.message_id == message_id:
                queue.waiting.remove(pending)
                await self._engine.journal.close_inbound(pending.inbox_id, None, None)
                return True
        return False

    async def fetch(self, channel: str, fetch: FetchFiles) -> None:
        """Use ``fetch`` from now on for the channel's messages, including a dead process's."""
        self._fetchers[channel] = fetch
        await self._engine.node.join()
        await self._load(channel)
        for key in [key for key in self._queues if key[0] == channel]:
            self._work(key)

    async def recover(self) -> None:
        """Take over messages that a dead process left, for the channels that this process runs."""
        for channel in list(self._fetchers):
            await self._load(channel)

    async def _load(self, channel: str) -> None:
        journal = self._engine.journal
        for row in await journal.pending_inbox(channel):
            if row["id"] in self._inbox_ids() or not await self._engine.node.may_claim(
                row["owner"]
            ):
                continue
            if (
                await journal.claim("claim_pending", row["id"], row["owner"])
                and row["id"] not in self._inbox_ids()
            ):
                self._add(_Pending(row["id"], row["inbound"], row["files"]))

    def _inbox_ids(self) -> set[str]:
        return {pending.inbox_id for queue in self._queues.values() for pending in queue.waiting}

    def _add(self, pending: _Pending) -> None:
        key = (pending.inbound.channel, pending.inbound.chat_id)
        self._queues.setdefault(key, _Queue()).waiting.append(pending)
        self._work(key)

    def _work(self, key: tuple[str, str]) -> None:
        queue = self._queues[key]
        if key[0] in self._fetchers and (queue.worker is None or queue.worker.done()):
            queue.worker = self._engine.background.start(self._complete_all(key, queue))

    async def _complete_all(self, key: tuple[str, str], queue: _Queue) -> None:
        while queue.waiting:
            pending = queue.waiting[0]
            try:
                await self._complete(pending, queue)
            except Exception as error:
                log.warning("files of a message from %s unavailable; will retry: %s", key[0], error)
                await asyncio.sleep(RETRY_PAUSE)
                continue
            if pending in queue.waiting:
                queue.waiting.remove(pending)
        if self._queues.get(key) is queue:
            del self._queues[key]

    async def _complete(self, pending: _Pending, queue: _Queue) -> None:
        inbound = pending.inbound
        if pending.files:
            inbound = await self._fetchers[inbound.channel](inbound, pending.files)
            crash.point("after-fetch")
        if pending not in queue.waiting:
            return  # withdrawn
        await self._begin(replace(inbound, text=clean(inbound.text)), pending.inbox_id)
