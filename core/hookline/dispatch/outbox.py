"""The registered channels, and the delivery of replies from the outbox."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any
from weakref import WeakValueDictionary

from hookline_hookspecs import Channel, Reply, Session, crash, message_ids
from hookline_hookspecs.channels import RetryLater

from .. import clock
from ..bus.implementation import describe
from ..engine import Engine
from ..sessions.state import ActiveTurn
from ..store.codec import reply_from_json

log = logging.getLogger("hookline.channels")
MAX_RETRY_WAIT = 60.0
"""Maximum seconds between two attempts. The wait starts at 1 s and doubles."""
GIVE_UP_SECONDS = 24 * 3600.0
"""Age of a reply in seconds after which it is not tried again."""


class Channels:
    """Channels by name, each with the plugin that registered it."""

    def __init__(self) -> None:
        self._channels: dict[str, tuple[str, Channel]] = {}

    def register(self, channel: Channel, plugin: str) -> None:
        """Add a plugin's channel. Raises ``ValueError`` if its name is taken."""
        if other := self._channels.get(channel.name):
            raise ValueError(f"plugin {other[0]} already provides a channel {channel.name}")
        _fill_defaults(channel)
        self._channels[channel.name] = (plugin, channel)

    def unregister(self, plugin: str) -> None:
        """Remove a plugin's channels."""
        self._channels = {n: pair for n, pair in self._channels.items() if pair[0] != plugin}

    def get(self, name: str) -> Channel | None:
        """The channel, or None if no plugin provides it."""
        return self._channels.get(name, ("", None))[1]

    def owner(self, name: str) -> str:
        """The plugin that provides a channel; empty if none does."""
        return self._channels.get(name, ("", None))[0]

    def awaits_replies(self, name: str) -> bool:
        """Whether the senders of a channel wait for the reply."""
        channel = self.get(name)
        return channel is not None and channel.awaits_replies

    def __iter__(self) -> Iterator[Channel]:
        return iter([channel for _, channel in self._channels.values()])


def _fill_defaults(channel: Channel) -> None:
    """Add the defaults of ``Channel`` to a channel that is not a subclass of it."""
    methods = ("private_chat", "answer_to", "question_closed")
    for name in ("can", "shared", "relays", "listener", "awaits_replies", *methods):
        if not hasattr(channel, name):
            default = vars(Channel)[name]
            setattr(channel, name, MethodType(default, channel) if callable(default) else default)


@dataclass
class Outbox:
    """Delivers replies: in order within a chat, repeatedly until a network confirms them.

    An attempt is first claimed in the store, so that two processes never send the same reply. After
    a failed attempt, the chat's replies wait until the next one is due. A reply that has failed for
    :data:`GIVE_UP_SECONDS` is given up and recorded as a failure of the channel's plugin.
    """

    engine: Engine
    channels: Channels
    direct: dict[str, str] = field(default_factory=dict)
    """Messages in progress: their inbox ids, and the ids of the turns that deliver the replies."""
    _locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )
    _retrying: set[tuple[str, str]] = field(default_factory=set)

    async def deliver_all(self, channel: str) -> None:
        """Send all waiting replies of a channel, except in chats where delivery is running."""
        rows = await self.engine.journal.open_outbox(channel)
        chats = {r["chat_id"] for r in rows if (channel, r["chat_id"]) not in self._locks}
        await asyncio.gather(*[self.deliver(channel, chat) for chat in chats])

    async def deliver(
        self,
        channel_name: str,
        chat_id: str,
        *,
        again: bool = False,
        turn: ActiveTurn | None = None,
    ) -> None:
        """Send a chat's waiting replies in order; return when all are sent or a retry is scheduled.

        A reply that is not due yet is skipped, unless this is its scheduled retry (``again``). If
        ``turn`` has claimed a reply, only that one is sent, from memory.
        """
        channel = self.channels.get(channel_name)
        if channel is None:
            return
        if not self.engine.work.sends(channel_name):
            self.engine.work.replied(channel_name, chat_id)
            return
        async with self._locks.setdefault((channel_name, chat_id), asyncio.Lock()):
            rows = [turn.outcome.claimed] if turn is not None and turn.outcome.claimed else []
            if not rows:
                rows = await self.engine.journal.open_outbox(channel_name)
                others = {id_ for id_ in self.direct.values() if turn is None or id_ != turn.id}
                rows = [
                    row
                    for row in rows
                    if row["chat_id"] == chat_id and row["turn_id"] not in others
                ]
            for number, row in enumerate(rows):
                wait: float | None = 1.0  # another process is sending it: later replies wait
                if await self.engine.node.may_claim(row["owner"]):
                    wait = await self._send(channel, row, again, turn)
                if wait is None:
                    continue
                if channel.network:
                    self._retry_later(channel_name, chat_id, wait)
                for later in rows[number:]:
                    self.engine.bus.signals.send("reply_delayed", _reply(later))
                return

    def _retry_later(self, channel: str, chat_id: str, wait: float) -> None:
        chat = (channel, chat_id)
        if chat in self._retrying:
            return
        self._retrying.add(chat)

        async def retry() -> None:
            try:
                await asyncio.sleep(wait)
            finally:
                self._retrying.discard(chat)
            await self.deliver(channel, chat_id, again=True)

        self.engine.background.start(retry())

    async def _send(
        self, channel: Channel, row: Mapping[str, Any], again: bool, turn: ActiveTurn | None
    ) -> float | None:
        """Attempt one delivery; return seconds to the next attempt, or None if none is needed."""
        journal = self.engine.journal
        due = float(row["due"]) - clock.now()
        if channel.network and row["attempts"] and due > 0 and not again:
            return due
        if row["state"] != "claimed" and not await journal.claim(
            "claim_outbox", row["id"], row["owner"]
        ):
            return 1.0  # another process has just claimed it: the chat's later replies wait
        reply = replace(_reply(row), repeated=row["state"] == "sending")
        try:
            ids = message_ids(await channel.send(reply))
        except Exception as error:
            if channel.network and clock.now() - row["created"] > GIVE_UP_SECONDS:
                await self._give_up(channel.name, row, error)
                return None
            wait: float = min(2.0 ** min(row["attempts"], 16), MAX_RETRY_WAIT)
            wait = max(
                wait,
                error.retry_after if isinstance(error, RetryLater) and error.retry_after else 0.0,
            )
            log.warning("channel %s: %s; trying again in %g s", channel.name, error, wait)
            due = clock.now() + wait
            await journal.postpone_reply(reply.id, due, keep=channel.network)
            return wait
        crash.point("after-send")
        closed = journal.close_reply(reply.id, "sent", ids[-1] if ids else None)
        turn.track_write(closed) if turn is not None else await closed
        self.engine.bus.signals.send("reply_sent", replace(reply, delivered=ids))
        return None

    async def _give_up(self, channel: str, row: Mapping[str, Any], error: Exception) -> None:
        reason = (
            f"a reply to {channel}:{row['chat_id']} was given up after "
            f"{GIVE_UP_SECONDS / 3600:g} h and {row['attempts'] + 1} attempts: {describe(error)}"
        )
        log.error("channel %s: %s", channel, reason)
        self.engine.bus.signals.send_failure(
            self.channels.owner(channel) or channel, "send", reason
        )
        await self.engine.journal.close_reply(row["id"], "failed")
        self.engine.bus.signals.send("reply_failed", _reply(row))


def _reply(row: Mapping[str, Any]) -> Reply:
    session = Session(row["session_id"], row["channel"], row["chat_id"], None, row["created"])
    return reply_from_json(row["body"], session, row["id"])
