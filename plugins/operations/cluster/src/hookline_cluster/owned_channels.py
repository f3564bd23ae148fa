"""Replies: stored by whoever works, sent by the gateway that owns the channel."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

from hookline_hookspecs import GatewayHost, Host, StoreError
from hookline_hookspecs.drivers import Store

from .news import show

log = logging.getLogger("hookline.plugin.cluster")
REPLIES = "cluster:replies:"
"""Before the channel: the topic of chats with a reply."""
POLL_SECONDS = 0.5
"""Between two tries to own a channel that another gateway owns."""


class Channels:
    """The channels that this process owns: it alone is connected and sends."""

    def __init__(self, host: Host) -> None:
        self._store, self._core = host.services[Store], host.services[GatewayHost]
        self._host, self._spawn = host, host.spawn
        self._owned = AsyncExitStack()
        self._listeners: dict[str, asyncio.Task[None]] = {}
        self.held: set[str] = set()

    async def hold(self, channel: str) -> None:
        """Return once the channel is this process's own, and its replies are sent from here."""
        if listener := self._listener(channel):
            if listener not in self._listeners:
                owning = self._own(f"listener:{listener}")
                self._listeners[listener] = self._spawn(owning, f"listener {listener}")
            await asyncio.shield(self._listeners[listener])
        await self._own(f"channel:{channel}")
        self.held.add(channel)
        self._spawn(self._hear(channel), f"replies of {channel}")
        self._spawn(show(self._host, channel), f"news of {channel}")

    def _listener(self, channel: str) -> str:
        """The listener that a channel shares with others, which belong to the same process."""
        found = (one for one in self._host.channels() if one.name == channel)
        return next((one.listener for one in found), "")

    async def _own(self, key: str) -> None:
        while True:
            try:
                await self._owned.enter_async_context(self._store.own(key, 0.0))
                return
            except StoreError as error:
                log.debug("%s: %s", key, error)
            await asyncio.sleep(POLL_SECONDS)

    async def release(self) -> None:
        """Let other gateways have them."""
        self.held.clear()
        await self._owned.aclose()

    async def tell(self, channel: str, chat_id: str) -> None:
        """A reply is stored for a chat of another's channel."""
        await self._store.notify(REPLIES + channel, chat_id)

    async def send(self, channel: str, chat_id: str) -> None:
        """Send what waits for a chat."""
        if channel in self.held:
            await self._core.deliver(channel, chat_id)

    async def _hear(self, channel: str) -> None:
        async with self._store.listen(REPLIES + channel) as chats:
            await self._core.recover()  # what was stored before
            async for chat_id in chats:
                if not chat_id:
                    self._spawn(self._missed(), "missed replies")
                else:
                    self._spawn(self.send(channel, chat_id), "reply")

    async def _missed(self) -> None:
        await self._core.recover()
