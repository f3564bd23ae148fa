"""What listens: one route on uvicorn, in the event loop of the gateway.

Imported when the channel starts. The signals of the process stay the gateway's.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import uvicorn
from hookline_hookspecs import HooklineError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from .body import BadBody, Delivery, read
from .config import Address
from .connections import connections
from .signing import HEADER, is_signed

Take = Callable[[Delivery], Awaitable[bool]]
"""Stores a message; False if it was there already."""
BODY_SECONDS = 10.0
"""For a body to come in; a slower sender is sent away."""
STOP_SECONDS = 5
"""For requests under way when the server stops."""
MOST_AT_ONCE = 512
"""Connections and requests; above, uvicorn answers 503 and the sender comes back."""


class Endpoint:
    """Answers ``POST /webhook``: 202 once the message is stored.

    Args:
        take: stores a message.
        secret: the key of the signature.
        max_bytes: the largest body.
        log: where failures are told.
    """

    def __init__(self, take: Take, secret: bytes, max_bytes: int, log: logging.Logger) -> None:
        self._take = take
        self._secret = secret
        self._max_bytes = max_bytes
        self._log = log

    async def __call__(self, request: Request) -> JSONResponse:
        """Size, signature, body and store, in this order."""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await self._body(request)
        except (TimeoutError, ClientDisconnect):
            return _refusal(408, "the body did not come in time", **_HANG_UP)
        if body is None:
            return _refusal(413, f"the body is larger than {self._max_bytes} bytes", **_HANG_UP)
        if not is_signed(self._secret, body, request.headers.getlist(HEADER)):
            return _refusal(401, f"{HEADER} is missing or does not fit the body")
        try:
            delivery = read(body)
        except BadBody as error:
            return _refusal(400, str(error))
        try:
            stored = await self._take(delivery)
        except HooklineError as error:
            self._log.error("message %s could not be stored: %s", delivery.id, error)
            return _refusal(503, "the message could not be stored; send it again later")
        return JSONResponse({"id": delivery.id, "known": not stored}, 202)

    async def _body(self, request: Request) -> bytes | None:
        """The body; None as soon as it is too large."""
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._max_bytes:
            return None
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._max_bytes:
                return None
        return bytes(body)


_HANG_UP = {"Connection": "close"}
"""Otherwise uvicorn goes on reading a body that nobody wants, for as long as it comes."""


def _refusal(status: int, why: str, **headers: str) -> JSONResponse:
    return JSONResponse({"error": why}, status, headers)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT belong to the gateway, which drains."""
        yield


class Listener:
    """A listening server."""

    def __init__(self, endpoint: Endpoint) -> None:
        app = Starlette(routes=[Route("/webhook", endpoint.__call__, methods=["POST"])])
        app.router.redirect_slashes = False
        self._server = _Server(
            uvicorn.Config(
                app,
                http=connections(),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MOST_AT_ONCE,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        self._task: asyncio.Task[None] | None = None
        self._listening: socket.socket | None = None

    async def start(self, address: Address) -> Address:
        """Listen; return where, when requests are answered. Raises ``OSError`` kin."""
        listening = self._listening = _bound(address)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started:
            if self._task.done():
                listening.close()
                self._task.result()
                raise OSError("the server ended at once")
            await asyncio.sleep(0.01)
        return Address(address.host, listening.getsockname()[1])

    async def wait(self) -> None:
        """Return when it was stopped. Raises ``OSError`` if it has ended by itself."""
        if self._task is None:
            return
        await asyncio.wait({self._task})
        if not self._server.should_exit:
            error = None if self._task.cancelled() else self._task.exception()
            raise OSError(f"the server ended: {error or 'nobody knows why'}")

    async def stop(self) -> None:
        """Answer what is under way and listen no more."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})
            self._task = None
        if self._listening is not None:
            self._listening.close()  # a server that has failed leaves it open


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(address, family=family, backlog=MOST_AT_ONCE)
    except OSError as error:
        where = f"{address.host}:{address.port}"
        raise OSError(f"{where} cannot be listened on: {error.strerror or error}") from None
    listening.setblocking(False)
    return listening
