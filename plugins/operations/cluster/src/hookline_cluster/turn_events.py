"""What a turn shows while it runs, on its way from the worker to the gateway that shows it.

It is told by ``NOTIFY``, outside of transactions and at most four times a second for a turn; what
is lost does no harm, because the reply comes through the outbox. The other way, workers are told
which questions were shown, and as which messages.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hookline_hookspecs import (
    Context,
    Delta,
    Host,
    Inbound,
    RemoteTurnEvent,
    Reply,
    Session,
    StoreError,
    ToolResult,
    Turn,
)
from hookline_hookspecs.drivers import Store

log = logging.getLogger("hookline.plugin.cluster")
NEWS, SHOWN = "cluster:news:", "cluster:shown"
"""Topics: of what turns show, with the channel behind it, and of questions that were shown."""
EVERY_SECONDS = 0.25
ROOM = 3_000
"""Characters of text in one payload, which has 7,000 bytes."""
MOST_BYTES = 6_900
KEPT = 32_000
"""Characters that wait for the next payload at most; no platform shows as many while they grow."""


@dataclass
class _Running:
    """A turn of this process that another one shows."""

    channel: str
    chat_id: str
    message_id: str
    session_id: str
    text: str = ""
    telling: asyncio.Task[Any] | None = field(default=None, compare=False)

    def news(self, kind: Any, text: str = "") -> RemoteTurnEvent:
        return RemoteTurnEvent(
            kind, self.channel, self.chat_id, self.message_id, self.session_id, text
        )


class Teller:
    """Tells gateways what the turns of this process show.

    Args:
        host: the plugin's host.
        is_elsewhere: whether another process shows a channel, and has to be told.
    """

    def __init__(self, host: Host, is_elsewhere: Callable[[str], bool]) -> None:
        self._host, self._store = host, host.services[Store]
        self._is_elsewhere = is_elsewhere
        self._running: dict[str, _Running] = {}
        self._waiting: deque[RemoteTurnEvent] = deque()
        self._sending: asyncio.Task[Any] | None = None

    def listen(self) -> None:
        """Hear of the turns of this process."""
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
        if session.kind == "chat" and self._is_elsewhere(inbound.channel):
            running = self._running[session.id] = _Running(
                inbound.channel, inbound.chat_id, inbound.message_id, session.id
            )
            self._tell(running.news("begun"))

    def _grown(self, delta: Delta, ctx: Context | None = None) -> None:
        if ctx is None or (running := self._running.get(ctx.session.id)) is None:
            return
        if delta.kind == "restart":
            self._pause(running)
        elif delta.kind == "text" and len(running.text) < KEPT:
            running.text += delta.text
            if running.telling is None or running.telling.done():
                running.telling = self._host.spawn(self._grow(running), "tell words")

    async def _grow(self, running: _Running) -> None:
        while running.text:
            await asyncio.sleep(EVERY_SECONDS)
            text, running.text = running.text[:ROOM], running.text[ROOM:]
            if text:
                self._tell(running.news("text", text))

    def _paused(self, _response: object, ctx: Context | None = None) -> None:
        if ctx is not None and (running := self._running.get(ctx.session.id)) is not None:
            self._pause(running)

    def _pause(self, running: _Running) -> None:
        text, running.text = running.text, ""
        if text:
            self._tell(running.news("text", text[:ROOM]))
        self._tell(running.news("paused"))

    def _board(self, result: ToolResult, ctx: Context | None = None) -> None:
        if ctx is None or (running := self._running.get(ctx.session.id)) is None:
            return
        if isinstance(result.data, Mapping) and "board" in result.data and result.shown:
            self._tell(running.news("board", result.shown[:ROOM]))

    def _settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        for session_id, running in list(self._running.items()):
            ended = (running.channel, running.chat_id, running.message_id)
            if ended == (inbound.channel, inbound.chat_id, inbound.message_id):
                running.text = ""
                del self._running[session_id]
                self._tell(running.news("ended"))

    def _tell(self, news: RemoteTurnEvent) -> None:
        self._waiting.append(news)
        if self._sending is None or self._sending.done():
            self._sending = self._host.spawn(self._send(), "tell news")

    async def _send(self) -> None:
        while self._waiting:
            news = self._waiting.popleft()
            try:
                await self._store.notify(NEWS + news.channel, encoded(asdict(news)))
            except StoreError as error:
                log.debug("news of a turn are lost: %s", error)


async def show(host: Host, channel: str) -> None:
    """Hand what turns elsewhere show to the channel of this process, until cancelled."""
    async with host.services[Store].listen(NEWS + channel) as payloads:
        async for payload in payloads:
            if payload:
                host.signals.send("remote_turn", RemoteTurnEvent(**json.loads(payload)))


async def tell_shown(host: Host, reply: Reply) -> None:
    """Tell workers that a question was shown."""
    session = reply.session
    told = {
        "session": [session.id, session.channel, session.chat_id, session.created],
        "reply": {
            "id": reply.id,
            "in_reply_to": reply.in_reply_to,
            "choices": [str(choice) for choice in reply.choices],
            "delivered": reply.delivered,
            "thread": reply.thread,
            "kind": reply.kind,
            "person": reply.person,
        },
    }
    try:
        await host.services[Store].notify(SHOWN, encoded(told))
    except StoreError as error:
        log.warning("a worker does not hear that a question was shown: %s", error)


async def hear_shown(host: Host, is_elsewhere: Callable[[str], bool]) -> None:
    """Tell this process which questions others have shown, by ``reply_sent``, until cancelled."""
    async with host.services[Store].listen(SHOWN) as payloads:
        async for payload in payloads:
            if not payload:
                continue
            told = json.loads(payload)
            id_, channel, chat_id, created = told["session"]
            if is_elsewhere(channel):
                row = told["reply"]
                for name in ("choices", "delivered"):
                    row[name] = tuple(row[name])
                session = Session(id_, channel, chat_id, None, created)
                host.signals.send("reply_sent", Reply(session, "", **row))


def encoded(told: Mapping[str, Any]) -> str:
    """``told`` as JSON that fits into a payload; a ``text`` that does not is cut."""
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    while (more := len(text.encode("utf-8", "replace")) - MOST_BYTES) > 0 and told.get("text"):
        told = {**told, "text": str(told["text"])[: -max(1, more // 4)]}
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return text
