"""The channels that this gateway owns. Workers store replies; the owner of a channel sends them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

from hookline_hookspecs import GatewayHost, Host, StoreError
from hookline_hookspecs.drivers import Store

from .turn_events import receive_turn_events

log = logging.getLogger("hookline.plugin.cluster")
REPLIES_TOPIC = "cluster:replies:"
"""The prefix of the topic, before the channel, on which chats with new replies are announced."""
POLL_SECONDS = 0.5
"""Seconds between two attempts to own a channel of another gateway."""


class OwnedChannels:
    """The channels that this process owns: only it is connected and sends."""

    def __init__(self, host: Host) -> None:
        self._store = host.services[Store]
        self._core = host.services[GatewayHost]
        self._host = host
        self._spawn = host.spawn
        self._owned = AsyncExitStack()
        self._listeners: dict[str, asyncio.Task[None]] = {}
        self.owned_names: set[str] = set()

    async def hold(self, channel: str) -> None:
        """Wait until this process owns the channel, then send its replies from here."""
        if listener := self._listener(channel):
            if listener not in self._listeners:
                owning = self._own(f"listener:{listener}")
                self._listeners[listener] = self._spawn(owning, f"listener {listener}")
            await asyncio.shield(self._listeners[listener])
        await self._own(f"channel:{channel}")
        self.owned_names.add(channel)
        self._spawn(self._listen_for_replies(channel), f"replies of {channel}")
        self._spawn(receive_turn_events(self._host, channel), f"turn events of {channel}")

    def _listener(self, channel: str) -> str:
        """The name of the listener that a channel shares with others; empty if it has its own."""
        found = (other for other in self._host.channels() if other.name == channel)
        return next((other.listener for other in found), "")

    async def _own(self, key: str) -> None:
        while True:
            try:
                await self._owned.enter_async_context(self._store.own(key, 0.0))
                return
            except StoreError as error:
                log.debug("%s: %s", key, error)
            await asyncio.sleep(POLL_SECONDS)

    async def release(self) -> None:
        """Release all channels for other gateways."""
        self.owned_names.clear()
        await self._owned.aclose()

    async def announce_reply(self, channel: str, chat_id: str) -> None:
        """Announce a stored reply to the gateway that owns the channel."""
        await self._store.notify(REPLIES_TOPIC + channel, chat_id)

    async def send(self, channel: str, chat_id: str) -> None:
        """Send the replies of a chat, if this process owns the channel."""
        if channel in self.owned_names:
            await self._core.deliver(channel, chat_id)

    async def _listen_for_replies(self, channel: str) -> None:
        async with self._store.listen(REPLIES_TOPIC + channel) as chats:
            await self._core.recover()  # sends replies that were stored before
            async for chat_id in chats:
                if not chat_id:
                    self._spawn(self._recover(), "missed replies")
                else:
                    self._spawn(self.send(channel, chat_id), "reply")

    async def _recover(self) -> None:
        await self._core.recover()
