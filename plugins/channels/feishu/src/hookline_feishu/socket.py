"""The long connection, over the library's WebSocket client; events are acknowledged once stored.

Of ``lark_channel.ws.client`` it uses connecting, reading and writing frames, joining split ones,
and pings. It does not use the dispatcher, which runs one handler at a time and blocks the loop
meanwhile, drops frames of the type CARD, and answers 500 to events without a handler, which are
then sent again for hours; nor the reconnecting, which waits for minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from hookline_channelkit import CannotStart, PlatformError
from hookline_hookspecs.strict_json import parse_off_loop, read_json_object

from .api import Api, Json

ANSWER_TIMEOUT = 2.5
"""Seconds for storing an event; Feishu waits 3 s for the answer, and sends it again after 15 s."""
PONG_TIMEOUT = 5.0
"""Seconds for the answer to a ping."""


class Socket:
    """One connection at a time.

    Args:
        api: returns the address.
        receive: called with each event; what it returns is the answer to a card's button.
        heard: called when anything is received.
        broken: called when a connection ends by itself.
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
        """Connect. Raises :class:`CannotStart`, or :class:`PlatformError` if it may be retried."""
        # The OpenAI SDK looks for httpx in sys.modules and must not find it half imported by the
        # library's thread.
        import httpx  # noqa: F401

        made, endpoint = await asyncio.to_thread(_client_class), await self._api.endpoint()
        client = made(self, endpoint, self._api)
        try:
            await client._connect()
        except Exception as error:
            if getattr(error, "code", 0) == 403:
                raise CannotStart(
                    f"Feishu refuses the app {self._api.app_id} a long connection ({error}); "
                    "choose it under Events & Callbacks, Subscription mode, and publish a version"
                ) from None
            raise PlatformError(f"cannot open the long connection to Feishu: {error}") from None
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
            raise PlatformError("the long connection is closed")
        self._pong.clear()
        await self._client.ping()
        await asyncio.wait_for(self._pong.wait(), PONG_TIMEOUT)

    # What the client calls

    def ended(self, client: Any, reason: str) -> None:
        """Handle the end of a connection; reported unless it was closed here."""
        if client is self._client:
            self._broken(f"the long connection has ended ({reason})")

    def ponged(self) -> None:
        """Handle the answer to a ping."""
        self._pong.set()
        self._heard()

    async def answer(self, payload: bytes) -> Json:
        """Store an event, then acknowledge it.

        One that is not stored in time is stored later; Feishu sends it again, and the repeat is
        recognized.
        """
        self._heard()
        try:
            body = await parse_off_loop(partial(read_json_object, any_text=True), payload)
        except ValueError:
            return {"code": 200}  # sending it again would not help
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
    """Return the library's client with our handlers; imported at first use (0.7 s)."""
    is_loaded = "lark_channel.ws.client" in sys.modules
    from lark_channel.ws import client as library  # type: ignore[import-untyped]
    from lark_channel.ws.model import ClientConfig  # type: ignore[import-untyped]

    if not is_loaded and not library.loop.is_running():
        library.loop.close()  # created by the import outside of the main thread
    logging.getLogger("Lark").setLevel(logging.CRITICAL)  # it prints addresses with tickets
    library.loop = SimpleNamespace(create_task=asyncio.create_task)  # the loop that runs

    class Client(library.Client):  # type: ignore[misc]
        """The client of one address."""

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
