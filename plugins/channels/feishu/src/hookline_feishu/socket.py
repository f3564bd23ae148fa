"""The long connection: the library's frames over its WebSocket client, answers when they are true.

Of ``lark_channel.ws.client`` is used what speaks the protocol: connecting, reading and writing
frames, joining split ones, pings. Its dispatcher is not: it runs one handler at a time and blocks
the loop meanwhile, drops frames of the type CARD, and answers 500 to any event that it has no
handler for, which is then pushed again for hours. Its reconnecting is not: it waits minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hookline_channelkit import CannotStart, PlatformError

from .api import Api, Json

ANSWER_TIMEOUT = 2.5
"""Seconds for storing an event; Feishu waits 3 for the answer, and pushes it again 15 s later."""
PONG_TIMEOUT = 5.0
"""Seconds for the answer to a ping."""


class Socket:
    """One connection at a time.

    Args:
        api: gives the address.
        receive: called with each event; what it returns is the answer to a card's button.
        heard: called at every sign of life.
        broken: called when a connection has ended by itself.
    """

    def __init__(
        self,
        api: Api,
        receive: Callable[[Json], Awaitable[Any]],
        heard: Callable[[], None],
        broken: Callable[[str], None],
    ) -> None:
        self._api, self._receive = api, receive
        self._heard, self._broken = heard, broken
        self._client: Any = None
        self._pinging: asyncio.Task[None] | None = None
        self._pong = asyncio.Event()

    async def open(self) -> None:
        """Connect. Raises :class:`CannotStart`, or :class:`PlatformError` to be tried again."""
        # The OpenAI SDK looks for httpx in sys.modules: it must not find a half of it there, while
        # the library imports it in a thread.
        import httpx  # noqa: F401

        made, endpoint = await asyncio.to_thread(_client_class), await self._api.endpoint()
        client = made(self, endpoint, self._api)
        try:
            await client._connect()
        except Exception as error:
            if getattr(error, "code", 0) == 403:
                raise CannotStart(
                    f"Feishu lets the app {self._api.app_id} have no long connection ({error}); "
                    "choose it under Events & Callbacks, Subscription mode, and publish a version"
                ) from None
            raise PlatformError(f"no long connection to Feishu: {error}") from None
        self._client = client
        self._pinging = asyncio.create_task(client._ping_loop())

    async def close(self) -> None:
        """Disconnect; harmless without a connection."""
        client, self._client = self._client, None
        if self._pinging is not None:
            self._pinging.cancel()
            self._pinging = None
        if client is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(client._disconnect(), PONG_TIMEOUT)

    async def probe(self) -> None:
        """Ping, and wait for the answer. Raises ``TimeoutError`` or :class:`PlatformError`."""
        if self._client is None:
            raise PlatformError("there is no long connection")
        self._pong.clear()
        await self._client.ping()
        await asyncio.wait_for(self._pong.wait(), PONG_TIMEOUT)

    # What the client calls

    def ended(self, client: Any, reason: str) -> None:
        """A connection is over; told if nobody here has ended it."""
        if client is self._client:
            self._broken(f"the long connection has ended ({reason})")

    def ponged(self) -> None:
        """A ping was answered."""
        self._pong.set()
        self._heard()

    async def answer(self, payload: bytes) -> Json:
        """Store an event, and then say so. One that cannot be stored in time is finished all the
        same; by then it is pushed again, and known."""
        self._heard()
        try:
            body = json.loads(payload)
        except ValueError:
            return {"code": 200}  # it would be no JSON the next time, either
        storing = asyncio.ensure_future(self._receive(body))
        try:
            result = await asyncio.wait_for(asyncio.shield(storing), ANSWER_TIMEOUT)
        except Exception:
            storing.add_done_callback(lambda done: done.cancelled() or done.exception())
            return {"code": 500}
        data = {} if result is None else {"data": b64encode(json.dumps(result).encode()).decode()}
        return {"code": 200} | data


@cache
def _client_class() -> Any:
    """The library's client with answers of its own; imported when it is first needed (0.7 s)."""
    is_loaded = "lark_channel.ws.client" in sys.modules
    from lark_channel.ws import client as library  # type: ignore[import-untyped]
    from lark_channel.ws.model import ClientConfig  # type: ignore[import-untyped]

    if not is_loaded and not library.loop.is_running():
        library.loop.close()  # it makes one when it is imported outside of the main thread
    logging.getLogger("Lark").setLevel(logging.CRITICAL)  # addresses with tickets, to stdout
    library.loop = SimpleNamespace(create_task=asyncio.create_task)  # the loop that runs

    class Client(library.Client):  # type: ignore[misc]
        """Talks to one address."""

        def __init__(self, socket: Socket, endpoint: Json, api: Api) -> None:
            super().__init__(
                api.app_id, "", domain=api.domain, auto_reconnect=False, handshake_timeout=10.0
            )
            logging.getLogger("Lark").setLevel(logging.CRITICAL)
            self._socket, self._endpoint = socket, endpoint
            self._configure(ClientConfig(endpoint.get("ClientConfig") or {}))

        def _get_conn_url(self, **_: Any) -> str:
            return str(self._endpoint.get("URL", ""))

        async def ping(self) -> None:
            await self._write_message(
                library._new_ping_frame(int(self._service_id)).SerializeToString()
            )

        async def _receive_message_loop(self, conn: Any) -> None:
            try:
                await super()._receive_message_loop(conn)
            except Exception as error:
                self._socket.ended(self, str(error) or type(error).__name__)

        async def _handle_control_frame(self, frame: Any) -> None:
            await super()._handle_control_frame(frame)
            self._socket.ponged()

        async def _handle_data_frame(self, frame: Any) -> None:
            headers = {one.key: one.value for one in frame.headers}
            payload, parts = frame.payload, int(headers.get("sum", 1))
            if parts > 1:
                payload = self._combine(headers["message_id"], parts, int(headers["seq"]), payload)
            if payload is not None and headers.get("type") in ("event", "card"):
                frame.payload = json.dumps(await self._socket.answer(payload)).encode()
                await self._write_message(frame.SerializeToString())

    return Client
