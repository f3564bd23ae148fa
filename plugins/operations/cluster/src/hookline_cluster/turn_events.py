"""Sends what a turn shows while it runs from the worker to the gateway.

Events are sent with ``NOTIFY``, outside of transactions and at most four times a second for a turn.
Lost events do no harm, because the reply comes through the outbox.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hookline_hookspecs import (
    Context,
    Delta,
    Host,
    Inbound,
    RemoteTurnEvent,
    StoreError,
    ToolResult,
    Turn,
)
from hookline_hookspecs.drivers import Store
from hookline_hookspecs.strict_json import InvalidJson, read_json_object

log = logging.getLogger("hookline.plugin.cluster")
TURN_EVENTS_TOPIC = "cluster:news:"
"""The prefix of the topic of turn events, before the channel."""
SEND_INTERVAL = 0.25
MAX_TEXT_CHARS = 3_000
"""Characters of text in one payload, whose limit is 7,000 bytes."""
MAX_PAYLOAD_BYTES = 6_900
MAX_BUFFERED_CHARS = 32_000
"""Characters that are buffered at most; no platform shows more of a growing reply."""


@dataclass
class _RemoteTurn:
    """A turn of this process that another process shows."""

    channel: str
    chat_id: str
    message_id: str
    session_id: str
    text: str = ""
    telling: asyncio.Task[Any] | None = field(default=None, compare=False)

    def event(self, kind: Any, text: str = "") -> RemoteTurnEvent:
        return RemoteTurnEvent(
            kind, self.channel, self.chat_id, self.message_id, self.session_id, text
        )


class TurnEventSender:
    """Sends events of this process's turns to gateways.

    Args:
        host: the plugin's host.
        is_remote: whether another process needs the events of a channel.
    """

    def __init__(self, host: Host, is_remote: Callable[[str], bool]) -> None:
        self._host = host
        self._store = host.services[Store]
        self._is_remote = is_remote
        self._running: dict[str, _RemoteTurn] = {}
        self._waiting: deque[RemoteTurnEvent] = deque()
        self._sending: asyncio.Task[Any] | None = None

    def listen(self) -> None:
        """Connect to the signals of this process's turns."""
        receivers: dict[str, Callable[..., Any]] = {
            "start_of_turn": self._begun,
            "delta": self._grown,
            "post_model": self._paused,
            "post_tool": self._board,
            "settled": self._settled,
        }
        for name, receiver in receivers.items():
            self._host.signals.connect(name, receiver)

    def _begun(self, turn: Turn, ctx: Context | None = None) -> None:
        session, inbound = turn.session, turn.inbound
        if session.kind == "chat" and self._is_remote(inbound.channel):
            running = self._running[session.id] = _RemoteTurn(
                inbound.channel, inbound.chat_id, inbound.message_id, session.id
            )
            self._tell(running.event("begun"))

    def _grown(self, delta: Delta, ctx: Context | None = None) -> None:
        if ctx is None or (running := self._running.get(ctx.session.id)) is None:
            return
        if delta.kind == "restart":
            self._pause(running)
        elif delta.kind == "text" and len(running.text) < MAX_BUFFERED_CHARS:
            running.text += delta.text
            if running.telling is None or running.telling.done():
                running.telling = self._host.spawn(self._grow(running), "send text")

    async def _grow(self, running: _RemoteTurn) -> None:
        while running.text:
            await asyncio.sleep(SEND_INTERVAL)
            text, running.text = running.text[:MAX_TEXT_CHARS], running.text[MAX_TEXT_CHARS:]
            if text:
                self._tell(running.event("text", text))

    def _paused(self, _response: object, ctx: Context | None = None) -> None:
        if ctx is not None and (running := self._running.get(ctx.session.id)) is not None:
            self._pause(running)

    def _pause(self, running: _RemoteTurn) -> None:
        text, running.text = running.text, ""
        if text:
            self._tell(running.event("text", text[:MAX_TEXT_CHARS]))
        self._tell(running.event("paused"))

    def _board(self, result: ToolResult, ctx: Context | None = None) -> None:
        if ctx is None or (running := self._running.get(ctx.session.id)) is None:
            return
        if isinstance(result.data, Mapping) and "board" in result.data and result.shown:
            self._tell(running.event("board", result.shown[:MAX_TEXT_CHARS]))

    def _settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        for session_id, running in list(self._running.items()):
            ended = (running.channel, running.chat_id, running.message_id)
            if ended == (inbound.channel, inbound.chat_id, inbound.message_id):
                running.text = ""
                del self._running[session_id]
                self._tell(running.event("ended"))

    def _tell(self, event: RemoteTurnEvent) -> None:
        self._waiting.append(event)
        if self._sending is None or self._sending.done():
            self._sending = self._host.spawn(self._send(), "send turn events")

    async def _send(self) -> None:
        while self._waiting:
            event = self._waiting.popleft()
            try:
                await self._store.notify(
                    TURN_EVENTS_TOPIC + event.channel, encode_payload(asdict(event))
                )
            except StoreError as error:
                log.debug("an event of a turn was lost: %s", error)


async def receive_turn_events(host: Host, channel: str) -> None:
    """Pass events of turns in other processes to a channel of this process, until cancelled."""
    async with host.services[Store].listen(TURN_EVENTS_TOPIC + channel) as payloads:
        async for payload in payloads:
            if payload and (event := _read_event(payload, channel)) is not None:
                host.signals.send("remote_turn", event)


def _read_event(payload: str, channel: str) -> RemoteTurnEvent | None:
    """The event of a payload, which anything may have sent; None if it is none of ``channel``."""
    try:
        event = RemoteTurnEvent(**read_json_object(payload, any_text=True))
    except (InvalidJson, TypeError) as error:
        log.debug("a notification is not an event of a turn: %s", error)
        return None
    values = (getattr(event, one.name) for one in fields(event))
    is_valid = event.channel == channel and all(isinstance(one, str) for one in values)
    return event if is_valid else None


def encode_payload(payload_data: Mapping[str, Any]) -> str:
    """The data as JSON that fits into a payload; a ``text`` that does not fit is cut."""
    text = json.dumps(payload_data, ensure_ascii=False, separators=(",", ":"))
    while (
        more := len(text.encode("utf-8", "replace")) - MAX_PAYLOAD_BYTES
    ) > 0 and payload_data.get("text"):
        payload_data = {**payload_data, "text": str(payload_data["text"])[: -max(1, more // 4)]}
        text = json.dumps(payload_data, ensure_ascii=False, separators=(",", ":"))
    return text
