"""What answers: one route. Imported when the channel starts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from hookline_hookspecs import HooklineError
from hookline_webkit.listener import Listener
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from .body import BadBody, Delivery, read
from .signing import HEADER, is_signed

Take = Callable[[Delivery, bytes], Awaitable[bool]]
"""Stores a message, which came as a body; False if it was there already."""
BODY_SECONDS = 10.0
"""For a body to come in; a slower sender is sent away."""


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
            stored = await self._take(delivery, body)
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


def listener(endpoint: Callable[[Request], Awaitable[JSONResponse]]) -> Listener:
    """A server with the one route."""
    app = Starlette(routes=[Route("/webhook", endpoint, methods=["POST"])])
    app.router.redirect_slashes = False
    return Listener(app)
