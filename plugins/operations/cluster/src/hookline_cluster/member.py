"""A process in the cluster: its heartbeat, listeners and regular checks for missed work."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from hookline_hookspecs import (
    Feature,
    Fenced,
    GatewayService,
    HooklineError,
    Host,
    StoreError,
    features,
)
from hookline_hookspecs.drivers import Store

from .active_chats import ARRIVED_TOPIC, ActiveChats, chat_key
from .chat_queue import ChatQueue
from .config import ClusterConfig
from .nodes import BEAT_SECONDS, ClusterNodes
from .owned_channels import OwnedChannels
from .turn_events import TurnEventSender

FRESH_NODE_SECONDS = 6.0
"""Seconds of silence after which the work of a process is checked: it may be dead."""
PROGRESS_FEATURES: frozenset[Feature] = frozenset({"edits", "typing"})
"""Features with which a platform shows the progress of a turn."""
LISTEN_TIMEOUT = 60.0
"""Seconds within which a worker must be able to listen on the database."""


class ClusterMember:
    """This process in the cluster. It connects to the queue only when needed.

    Args:
        config: the plugin's settings.
        host: the plugin's host.
        conninfo: libpq's connection string.
    """

    def __init__(self, config: ClusterConfig, host: Host, conninfo: str) -> None:
        self.config = config
        self.host = host
        self._store = host.services[Store]
        self.channels = OwnedChannels(host)
        self._active_chats = ActiveChats(host, self._is_unclaimed, config.files)
        self._queue = self._active_chats.queue = ChatQueue(conninfo, self._active_chats.drain)
        self._nodes = ClusterNodes(host.storage, lambda: self._active_chats.count)
        self._arrived: set[str] = set()
        self._announcing: asyncio.Task[Any] | None = None
        self._working: asyncio.Task[Any] | None = None
        self.status = self._nodes.status

    def is_network(self, channel: str) -> bool:
        """Whether people other than the operator write on this channel."""
        return any(other.network for other in self.host.channels() if other.name == channel)

    def is_remote(self, channel: str) -> bool:
        """Whether another process sends the replies of this channel."""
        return channel not in self.channels.owned_names and self.is_network(channel)

    def _needs_events(self, channel: str) -> bool:
        """Whether the process that owns a channel needs the events of its turns.

        It does if the channel can show progress and its plugin does not relay events by itself.
        """
        found = (other for other in self.host.channels() if other.name == channel)
        return self.is_remote(channel) and any(
            features(other) & PROGRESS_FEATURES and not other.relays for other in found
        )

    async def join(self, kind: str, turns: int) -> None:
        """Join the cluster and work on up to ``turns`` chats at once. Raises ``StoreError``."""
        self._nodes.kind = kind
        await self._nodes.beat()
        await self._nodes.tidy()
        self.host.spawn(self._beat(), "beat")
        self.host.spawn(self._sweep(works=turns > 0), "sweep")
        if turns:
            listening = asyncio.Event()
            self.host.spawn(self._listen_for_arrivals(listening), "hear")
            TurnEventSender(self.host, self._needs_events).listen()
            async with asyncio.timeout(LISTEN_TIMEOUT):
                await listening.wait()
            self._working = self.host.spawn(self._queue.work(turns), "work")

    async def start_services(self) -> None:
        """Start the services of plugins that run turns; errors are logged."""
        names = [channel.name for channel in self.host.channels() if channel.network]
        for work in self._gateway_services():
            try:
                await work.gateway_up(names)
            except Exception:
                self.host.log.exception("cannot start %s", type(work).__name__)

    async def stop_services(self) -> None:
        """Stop the services that :meth:`start_services` started."""
        for work in self._gateway_services():
            try:
                await work.gateway_stopping()
            except Exception:
                self.host.log.exception("cannot stop %s", type(work).__name__)

    def _gateway_services(self) -> list[GatewayService]:
        works = self.host.services.all(GatewayService)
        return [work for work in works if work.runs_turns]

    async def end(self, seconds: float) -> None:
        """Start nothing new, and wait at most ``seconds`` for running turns."""
        self._active_chats.is_ending = self._queue.is_ending = True
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait({self._working}, timeout=seconds)

    async def leave(self) -> None:
        """Release everything, so that other processes can continue."""
        await self.channels.release()
        if self._nodes.kind:
            with suppress(HooklineError):
                await self._nodes.leave()
        await self._queue.close()

    def arrived(self, channel: str, chat_id: str) -> None:
        """Queue a chat for a worker."""
        self._arrived.add(chat_key(channel, chat_id))
        if self._announcing is None or self._announcing.done():
            self._announcing = self.host.spawn(self._announce_arrivals(), "announce messages")

    async def _announce_arrivals(self) -> None:
        """Announce and queue the chats that have new messages."""
        while self._arrived:
            keys, self._arrived = self._arrived, set()
            for key in keys:
                try:
                    await self._store.notify(ARRIVED_TOPIC, key)
                    await self._queue.defer(key)
                except StoreError as error:
                    self.host.log.warning("a message waits for the next sweep: %s", error)

    async def _is_unclaimed(self, channel: str, chat_id: str) -> bool:
        found = await self.host.storage.fetch("unclaimed", channel=channel, chat_id=chat_id)
        return bool(found)

    async def _listen_for_arrivals(self, listening: asyncio.Event) -> None:
        async with self._store.listen(ARRIVED_TOPIC) as keys:
            listening.set()
            async for key in keys:
                self._active_chats.wake(key)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await self._run_or_log(self._nodes.beat, "cannot send the heartbeat")

    async def _sweep(self, *, works: bool) -> None:
        """Check regularly for unclaimed work and for replies that were not announced."""
        while True:
            await asyncio.sleep(self.config.sweep)
            if works:
                await self._run_or_log(self._find_work, "cannot look for unclaimed work")
            if self.channels.owned_names:
                await self._run_or_log(self._find_replies, "cannot look for replies")

    async def _find_work(self) -> None:
        for row in await self.host.storage.fetch("left", fresh=FRESH_NODE_SECONDS):
            if self.is_network(row["channel"]):
                await self._queue.defer(chat_key(row["channel"], row["chat_id"]))
        await self._queue.tidy()

    async def _find_replies(self) -> None:
        for row in await self.host.storage.fetch("unsent"):
            await self.channels.send(row["channel"], row["chat_id"])

    async def _run_or_log(self, work: Callable[[], Awaitable[None]], failure: str) -> None:
        """Run ``work`` and log errors; end the process if others declared it dead."""
        try:
            await work()
        except Fenced as error:
            sys.stderr.write(f"hookline: {error}\n")
            sys.stderr.flush()
            os._exit(1)
        except HooklineError as error:
            self.host.log.warning("%s: %s", failure, error)
