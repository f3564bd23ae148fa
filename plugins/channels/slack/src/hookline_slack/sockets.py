"""The websockets of Socket Mode (docs.slack.dev/apis/events-api/using-socket-mode).

Not the library's client: that closes the old socket before the new one is open, tries the same
single-use address again after a failure, and runs listeners side by side, so that order is lost.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import aiohttp
from hookline_channelkit import SocketEvent, SocketPool, connection_error
from hookline_hookspecs import Host

from .api import Api
from .config import Json

COUNT = 2
"""Of the ten that an app may have."""
HEARTBEAT = 10.0
"""Seconds between two pings; a pong that does not come within half of it ends the socket."""
ASKED = frozenset({"warning", "refresh_requested"})
"""Reasons of ``disconnect`` for which another socket is opened before this one ends."""
Acknowledge: TypeAlias = Callable[[], Awaitable[None]]
Serve: TypeAlias = Callable[[str, Json, Acknowledge], Coroutine[Any, Any, None]]
Socket: TypeAlias = aiohttp.ClientWebSocketResponse


def sockets_of(api: Api, host: Host, serve: Serve) -> SocketPool:
    """The sockets of an app. ``serve`` gets type and payload of each envelope, and what
    acknowledges it; one call is begun after the other, in the order in which they came."""

    async def opened() -> Socket:
        url = (await api.ask("apps_connections_open"))["url"]
        try:
            socket = await api.session.ws_connect(url, heartbeat=HEARTBEAT, max_msg_size=0)
        except (aiohttp.ClientError, OSError) as error:
            raise connection_error("Slack", error, sends=False) from None
        api.connected = host.now() + api.skew
        return socket

    def heard(socket: Socket, message: aiohttp.WSMessage) -> SocketEvent | None:
        if message.type != aiohttp.WSMsgType.TEXT:
            return None
        envelope: Json = json.loads(message.data)
        match envelope.get("type"):
            case "hello":
                return SocketEvent.OPENED
            case "disconnect":
                return SocketEvent.REPLACE if envelope.get("reason") in ASKED else SocketEvent.ENDED
            case kind if "envelope_id" in envelope:
                payload = envelope.get("payload") or {}
                acknowledge = _acknowledgement(socket, envelope["envelope_id"])
                sockets.spawn(serve(str(kind), payload, acknowledge), "envelope")
        return None

    sockets = SocketPool(host, opened, heard, COUNT)
    return sockets


def _acknowledgement(socket: Socket, envelope_id: str) -> Acknowledge:
    async def acknowledge() -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await socket.send_str(json.dumps({"envelope_id": envelope_id}))

    return acknowledge
