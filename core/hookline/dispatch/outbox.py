"""Channels that plugins registered, and the delivery of what the outbox holds for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from hookline_hookspecs import Channel, Session, crash

from .. import clock
from ..store.codec import reply_from_json

if TYPE_CHECKING:
    from ..bus.bus import Bus
    from ..runtime import Runtime

log = logging.getLogger("hookline.channels")
LONGEST_WAIT = 60.0
"""Seconds between attempts at most; they begin with one second and double."""


class Channels:
    """Channels by name, each with the plugin it came from."""

    def __init__(self) -> None:
        self._channels: dict[str, tuple[str, Channel]] = {}

    def gather(self, bus: Bus) -> None:
        """Ask the plugins for their channels."""
        bus.gather("register_channels", lambda plugin: lambda channel: self.add(channel, plugin))

    def add(self, channel: Channel, plugin: str) -> None:
        """Add a plugin's channel. Raises ``ValueError`` if its name is taken."""
        if other := self._channels.get(channel.name):
            raise ValueError(f"plugin {other[0]} brings a channel {channel.name} already")
        self._channels[channel.name] = (plugin, channel)

    def remove(self, plugin: str) -> None:
        """Forget a plugin's channels."""
        self._channels = {n: pair for n, pair in self._channels.items() if pair[0] != plugin}

    def get(self, name: str) -> Channel | None:
        """The channel, if a plugin brought it."""
        return self._channels.get(name, ("", None))[1]

    def __iter__(self) -> Iterator[Channel]:
        return iter([channel for _, channel in self._channels.values()])


class Outbox:
    """Delivers replies: in order within a chat, again and again until a network confirms them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def deliver_all(self, channel: str) -> None:
        """Send what is waiting for a channel, but in chats that are being delivered to already."""
        rows = await self._runtime.journal.open_outbox(channel)
        chats = {r["chat_id"] for r in rows if (channel, r["chat_id"]) not in self._locks}
        await asyncio.gather(*[self.deliver(channel, chat) for chat in chats])

    async def deliver(self, channel_name: str, chat_id: str) -> None:
        """Send what is waiting for a chat, in order."""
        channel = self._runtime.channels.get(channel_name)
        if channel is None:
            return
        lock = self._locks.setdefault((channel_name, chat_id), asyncio.Lock())
        async with lock:
            for row in await self._runtime.journal.open_outbox(channel_name):
                if row["chat_id"] == chat_id and not await self._send(channel, row):
                    return

    async def _send(self, channel: Channel, row: Mapping[str, Any]) -> bool:
        """Whether it was delivered; where nobody is there to read it, it waits for a chat."""
        session = Session(row["session_id"], row["channel"], row["chat_id"], None, row["created"])
        reply = reply_from_json(row["body"], session, row["id"])
        reply = replace(reply, repeated=row["state"] == "sending")
        wait = 1.0
        while True:
            await self._runtime.journal.set_outbox(reply.id, "sending")
            try:
                delivered = await channel.send(reply)
                break
            except Exception as error:
                pause = max(wait, getattr(error, "retry_after", None) or 0.0)
                log.warning("channel %s: %s; trying again in %g s", channel.name, error, pause)
                await self._runtime.journal.set_outbox(reply.id, "pending", due=clock.now() + pause)
                if not channel.network:
                    return False
                await asyncio.sleep(pause)
                wait = min(wait * 2, LONGEST_WAIT)
        crash.point("after-send")
        await self._runtime.journal.set_outbox(reply.id, "sent", delivered_id=delivered)
        self._runtime.bus.signals.send("reply_sent", replace(reply, delivered=delivered))
        return True
