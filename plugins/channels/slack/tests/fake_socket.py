"""Socket Mode: single-use addresses, at most ten sockets, envelopes to a random one of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web
from hookline_channelkit.testing import malformed

if TYPE_CHECKING:
    from .fake_slack import Slack

MOST = 10
RETRIES = (0.0, 60.0, 300.0)
"""Seconds until an unacknowledged event is sent again
(docs.slack.dev/apis/events-api, retries)."""
ACK_SECONDS = 3.0


@dataclass(slots=True)
class Envelope:
    """Something that was sent; ``tries`` of an event, None of what is never sent again."""

    body: dict[str, Any]
    tries: int | None = 0
    at: float = 0.0
    sockets: set[int] = field(default_factory=set)


class Sockets:
    """The app's sockets and what goes over them. All of it runs in the server's thread."""

    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self.tickets: set[str] = set()
        self.open: list[web.WebSocketResponse] = []
        self.dead: set[int] = set()
        """Half-open ones, by ``id``: what is sent to them arrives nowhere, and nothing comes."""
        self.made = 0
        self.refused: list[str] = []
        self.ack_seconds = ACK_SECONDS
        self.waiting: dict[str, Envelope] = {}
        """What has been sent and not been acknowledged, by envelope."""
        self.later: list[tuple[float, dict[str, Any], int]] = []
        """Events to be sent again: when, payload, tries."""
        self.acked: list[str] = []
        self.late: list[str] = []
        self.lost: list[dict[str, Any]] = []
        """Events that are not sent again."""
        self.hello = True
        self.writing: set[asyncio.Future[None]] = set()

    def ticket(self) -> str:
        """An address for one socket."""
        made = uuid.uuid4().hex
        self.tickets.add(made)
        return f"ws://127.0.0.1:{self.slack.port}/link/?ticket={made}&app_id=A0HOOK".replace(
            "/?", "?"
        )

    async def serve(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self.tickets:
            self.refused.append("spent")
            return web.Response(status=408, text="the address is spent")
        self.tickets.discard(ticket)
        socket = web.WebSocketResponse(autoping=False, max_msg_size=0)
        await socket.prepare(request)
        if len(self.open) >= MOST:
            self.refused.append("too many")
            await self._disconnect(socket, "too_many_websockets")
            await socket.close()
            return socket
        self.open.append(socket)
        self.made += 1
        if self.hello:
            body = {"type": "hello", "num_connections": len(self.open), "debug_info": {}}
            await socket.send_str(json.dumps(body | {"connection_info": {"app_id": "A0HOOK"}}))
        self.slack.changed()
        self.due()
        try:
            async for message in socket:
                if id(socket) in self.dead:
                    continue
                if message.type == WSMsgType.PING:
                    await socket.pong(message.data)
                elif message.type == WSMsgType.TEXT:
                    self._ack(json.loads(message.data).get("envelope_id", ""))
        finally:
            with contextlib.suppress(ValueError):
                self.open.remove(socket)
            self.slack.changed()
        return socket

    async def _disconnect(self, socket: web.WebSocketResponse, reason: str) -> None:
        body = {"type": "disconnect", "reason": reason, "debug_info": {"host": "x"}}
        await socket.send_str(json.dumps(body))

    # Sending

    def event(self, event: dict[str, Any]) -> None:
        """Send an event; without a receiver it is sent again like an unacknowledged one."""
        payload = {
            "token": "old",
            "team_id": "T0TEAM",
            "api_app_id": "A0HOOK",
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev{uuid.uuid4().hex[:10].upper()}",
            "event_time": int(float(event["event_ts"])),
            "authorizations": [{"team_id": "T0TEAM", "user_id": "U0BOT", "is_bot": True}],
            "event_context": "4-x",
        }
        self.again(payload, 0)

    def again(self, payload: dict[str, Any], tries: int) -> None:
        """Send an event, for the first time or once more."""
        if self.slack.is_strange:
            payload = malformed(self.slack.random.randrange(2**32), payload)
        body = {"type": "events_api", "payload": payload, "accepts_response_payload": False}
        body |= {"retry_attempt": tries, "retry_reason": "timeout" if tries else ""}
        self._send(Envelope(body, tries))
        if self.slack.random.random() < self.slack.repeats:
            self._send(Envelope(dict(body), len(RETRIES)))

    def interaction(self, kind: str, payload: dict[str, Any]) -> None:
        """Send what is never sent again."""
        more = kind == "slash_commands"
        body = {"type": kind, "payload": payload, "accepts_response_payload": more}
        self._send(Envelope(body, None))

    def _send(self, envelope: Envelope) -> None:
        if not self.open:
            self._missed(envelope)
            return
        made = str(uuid.uuid4())
        envelope.body["envelope_id"] = made
        socket = self.slack.random.choice(self.open)
        envelope.at = self.slack.now()
        self.waiting[made] = envelope
        self.slack.loop.call_later(self.ack_seconds, self._expired, made)
        if id(socket) not in self.dead:
            work = asyncio.ensure_future(self._write(socket, json.dumps(envelope.body)))
            self.writing.add(work)
            work.add_done_callback(self.writing.discard)

    async def _write(self, socket: web.WebSocketResponse, text: str) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await socket.send_str(text)

    def _ack(self, made: str) -> None:
        if made in self.waiting:
            self.acked.append(made)
            del self.waiting[made]
        else:
            self.late.append(made)
        self.slack.changed()

    def _expired(self, made: str) -> None:
        envelope = self.waiting.pop(made, None)
        if envelope is not None:
            self._missed(envelope)

    def _missed(self, envelope: Envelope) -> None:
        payload = envelope.body["payload"]
        if envelope.tries is None or envelope.tries >= len(RETRIES):
            self.lost.append(payload)
        else:
            due = self.slack.now() + RETRIES[envelope.tries]
            self.later.append((due, payload, envelope.tries + 1))
            if self.open:
                self.due()
        self.slack.changed()

    def due(self) -> None:
        """Send again what is due."""
        now = self.slack.now()
        ready = [one for one in self.later if one[0] <= now]
        self.later = [one for one in self.later if one[0] > now]
        for _, payload, tries in ready:
            self.again(payload, tries)

    # Trouble, from the test's thread

    def refresh(self, reason: str = "refresh_requested") -> None:
        """Ask every socket to make place for another, and close them a little later."""

        async def ask() -> None:
            for socket in list(self.open):
                await self._disconnect(socket, reason)
            await asyncio.sleep(0.3)
            for socket in list(self.open)[: self.made]:
                if socket in old:
                    await socket.close()

        old = list(self.open)
        self.slack.soon(lambda: asyncio.ensure_future(ask()))

    def cut(self) -> None:
        """Break every socket without a close frame."""

        def now() -> None:
            for socket in list(self.open):
                transport = socket._req.transport if socket._req is not None else None
                if transport is not None:
                    transport.abort()

        self.slack.soon(now)

    def deaden(self) -> None:
        """Every socket that is open is half-open from now on."""
        self.slack.soon(lambda: self.dead.update(id(one) for one in self.open))

    async def close(self) -> None:
        for socket in list(self.open):
            with contextlib.suppress(Exception):
                await asyncio.wait_for(socket.close(), 1)
