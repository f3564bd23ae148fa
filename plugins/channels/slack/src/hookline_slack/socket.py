"""The websockets of Socket Mode (docs.slack.dev/apis/events-api/using-socket-mode).

The library's client is not used: it closes the old socket before the new one is open, reuses a
single-use address after a failure, and runs listeners concurrently, which loses the order.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import aiohttp
from hookline_channelkit import SocketEvent, SocketPool, connection_error
from hookline_hookspecs import Host
from hookline_hookspecs.strict_json import read_json_object

from .api import Api
from .config import Json

SOCKET_COUNT = 2
"""An app may have ten."""
PING_INTERVAL = 10.0
"""Seconds between pings; without a pong within half of it, the socket is closed."""
REFRESH_REASONS = frozenset({"warning", "refresh_requested"})
"""Reasons of ``disconnect`` after which a new socket is opened before this one ends."""
Acknowledge: TypeAlias = Callable[[], Awaitable[None]]
Serve: TypeAlias = Callable[[str, Json, Acknowledge], Coroutine[Any, Any, None]]
Socket: TypeAlias = aiohttp.ClientWebSocketResponse


def sockets_of(api: Api, host: Host, serve: Serve) -> SocketPool:
    """Return the sockets of an app.

    ``serve`` is called with type and payload of each envelope and a function that acknowledges it,
    in the order of arrival.
    """

    async def opened() -> Socket:
        url = (await api.ask("apps_connections_open"))["url"]
        try:
            socket = await api.session.ws_connect(url, heartbeat=PING_INTERVAL, max_msg_size=0)
        except (aiohttp.ClientError, OSError) as error:
            raise connection_error("Slack", error, sends=False) from None
        api.connected = host.now() + api.skew
        return socket

    def handle(socket: Socket, message: aiohttp.WSMessage) -> SocketEvent | None:
        if message.type != aiohttp.WSMsgType.TEXT:
            return None
        envelope: Json = read_json_object(message.data, any_text=True)
        match envelope.get("type"):
            case "hello":
                return SocketEvent.OPENED
            case "disconnect":
                is_refresh = envelope.get("reason") in REFRESH_REASONS
                return SocketEvent.REPLACE if is_refresh else SocketEvent.ENDED
            case kind if "envelope_id" in envelope:
                payload = envelope.get("payload") or {}
                acknowledge = _acknowledgement(socket, envelope["envelope_id"])
                sockets.spawn(serve(str(kind), payload, acknowledge), "envelope")
        return None

    sockets = SocketPool(host, opened, handle, SOCKET_COUNT)
    return sockets


def _acknowledgement(socket: Socket, envelope_id: str) -> Acknowledge:
    async def acknowledge() -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await socket.send_str(json.dumps({"envelope_id": envelope_id}))

    return acknowledge
