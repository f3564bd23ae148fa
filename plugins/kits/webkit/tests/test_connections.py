"""Settings of accepted connections."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from hookline_webkit.address import Address
from hookline_webkit.listener import Listener


async def test_accepted_connections_set_tcp_nodelay() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("nothing is asked")

    listener = Listener(app)
    address = await listener.start(Address("127.0.0.1", 0))
    try:
        _, writer = await asyncio.open_connection(*address)
        own = writer.get_extra_info("sockname")
        await asyncio.sleep(0.05)
        accepted = [
            transport.get_extra_info("socket")
            for connection in listener._server.server_state.connections
            if (transport := getattr(connection, "transport", None)) is not None
            and transport.get_extra_info("peername") == own
        ]
        writer.close()
        assert [
            one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0 for one in accepted
        ] == [True]
    finally:
        await listener.stop()
