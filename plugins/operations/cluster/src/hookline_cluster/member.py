"""The life of a process that takes part: it is heard of, hears, and looks for what is left."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from hookline_hookspecs import (
    Context,
    Feature,
    Fenced,
    GatewayService,
    HooklineError,
    Host,
    Reply,
    StoreError,
    features,
)
from hookline_hookspecs.drivers import Store

from .config import ClusterConfig
from .lanes import ARRIVED, Lanes, key_of
from .news import Teller, hear_shown, tell_shown
from .nodes import BEAT_SECONDS, Nodes
from .queue import Queue
from .replies import Channels

FRESH_SECONDS = 6.0
"""Since the last word of a process, after which what it has is looked at: it may be dead."""
GROWING: frozenset[Feature] = frozenset({"edits", "typing"})
"""What a platform can show of a turn that goes on."""
HEAR_SECONDS = 60.0
"""Within which the database has to let a worker listen."""


class Member:
    """This process in the cluster; nothing is connected before there is something to do.

    Args:
        config: the plugin's settings.
        host: the plugin's host.
        conninfo: libpq's parameters.
    """

    def __init__(self, config: ClusterConfig, host: Host, conninfo: str) -> None:
        self.config, self.host = config, host
        self._store = host.services[Store]
        self.channels = Channels(host)
        self._lanes = Lanes(host, self._is_unclaimed, config.files)
        self._queue = self._lanes.queue = Queue(conninfo, self._lanes.drain)
        self._nodes = Nodes(host.storage, lambda: self._lanes.count)
        self._arrived: set[str] = set()
        self._telling: asyncio.Task[Any] | None = None
        self._working: asyncio.Task[Any] | None = None
        self.status = self._nodes.status

    def is_network(self, channel: str) -> bool:
        """True for the name of a channel on which others than the operator write."""
        return any(one.network for one in self.host.channels() if one.name == channel)

    def is_elsewhere(self, channel: str) -> bool:
        """True for a channel whose replies another process sends."""
        return channel not in self.channels.held and self.is_network(channel)

    def _is_told(self, channel: str) -> bool:
        """True for a channel of which the other process has to hear: it can show something before
        the reply, and its plugin does not tell more than that by itself."""
        found = (one for one in self.host.channels() if one.name == channel)
        return self.is_elsewhere(channel) and any(
            features(one) & GROWING and not one.relays for one in found
        )

    async def join(self, kind: str, turns: int) -> None:
        """Take part, working on so many chats at once. Raises ``StoreError``."""
        self._nodes.kind = kind
        await self._nodes.beat()
        await self._nodes.tidy()
        self.host.signals.connect("reply_sent", self._reply_sent)
        self.host.spawn(self._beat(), "beat")
        self.host.spawn(self._sweep(works=turns > 0), "sweep")
        if turns:
            hearing = asyncio.Event()
            self.host.spawn(self._hear(hearing), "hear")
            self.host.spawn(hear_shown(self.host, self.is_elsewhere), "hear of questions")
            Teller(self.host, self._is_told).listen()
            async with asyncio.timeout(HEAR_SECONDS):
                await hearing.wait()
            self._working = self.host.spawn(self._queue.work(turns), "work")

    async def work(self) -> None:
        """Begin what plugins do in a process that runs turns; errors are logged."""
        names = [one.name for one in self.host.channels() if one.network]
        for work in self._works():
            try:
                await work.gateway_up(names)
            except Exception:
                self.host.log.exception("%s did not begin", type(work).__name__)

    async def rest(self) -> None:
        """End what :meth:`work` has begun."""
        for work in self._works():
            try:
                await work.gateway_stopping()
            except Exception:
                self.host.log.exception("%s did not stop well", type(work).__name__)

    def _works(self) -> list[GatewayService]:
        works = self.host.services.all(GatewayService)
        return [work for work in works if work.runs_turns]

    async def end(self, seconds: float) -> None:
        """Begin with nothing new, and wait at most ``seconds`` for what is under way."""
        self._lanes.is_ending = self._queue.is_ending = True
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait({self._working}, timeout=seconds)

    async def leave(self) -> None:
        """Let go of everything, so that others go on with it."""
        await self.channels.release()
        if self._nodes.kind:
            with suppress(HooklineError):
                await self._nodes.leave()
        await self._queue.close()

    def _reply_sent(self, reply: Reply, ctx: Context | None = None) -> Awaitable[None] | None:
        """Tell workers of a question that this process has shown."""
        if not reply.choices or reply.session.channel not in self.channels.held:
            return None
        return tell_shown(self.host, reply)

    def arrived(self, channel: str, chat_id: str) -> None:
        """Have a worker look at a chat."""
        self._arrived.add(key_of(channel, chat_id))
        if self._telling is None or self._telling.done():
            self._telling = self.host.spawn(self._tell(), "tell workers")

    async def _tell(self) -> None:
        """Tell who is at it, and put into the queue, what has arrived."""
        while self._arrived:
            keys, self._arrived = self._arrived, set()
            for key in keys:
                try:
                    await self._store.notify(ARRIVED, key)
                    await self._queue.defer(key)
                except StoreError as error:
                    self.host.log.warning("the sweep has to find a message: %s", error)

    async def _is_unclaimed(self, channel: str, chat_id: str) -> bool:
        found = await self.host.storage.fetch("unclaimed", channel=channel, chat_id=chat_id)
        return bool(found)

    async def _hear(self, hearing: asyncio.Event) -> None:
        async with self._store.listen(ARRIVED) as keys:
            hearing.set()
            async for key in keys:
                self._lanes.look(key)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await self._carefully(self._nodes.beat, "this process cannot say that it lives")

    async def _sweep(self, *, works: bool) -> None:
        """Look now and then for what nobody has, and for what was not heard of."""
        while True:
            await asyncio.sleep(self.config.sweep)
            if works:
                await self._carefully(self._find_work, "what was left cannot be looked for")
            if self.channels.held:
                await self._carefully(self._find_replies, "replies cannot be looked for")

    async def _find_work(self) -> None:
        for row in await self.host.storage.fetch("left", fresh=FRESH_SECONDS):
            if self.is_network(row["channel"]):
                await self._queue.defer(key_of(row["channel"], row["chat_id"]))
        await self._queue.tidy()

    async def _find_replies(self) -> None:
        for row in await self.host.storage.fetch("unsent"):
            await self.channels.send(row["channel"], row["chat_id"])

    async def _carefully(self, work: Callable[[], Awaitable[None]], told: str) -> None:
        """Do it, and only log where the database fails; end where others took this one for dead."""
        try:
            await work()
        except Fenced as error:
            sys.stderr.write(f"hookline: {error}\n")
            sys.stderr.flush()
            os._exit(1)
        except HooklineError as error:
            self.host.log.warning("%s: %s", told, error)
