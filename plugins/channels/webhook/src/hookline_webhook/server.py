"""The HTTP server with its one route. Imported when the channel starts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from hookline_hookspecs import HooklineError
from hookline_hookspecs.strict_json import parse_off_loop
from hookline_webkit.listener import Listener
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from .body import InvalidBody, WebhookMessage, parse_body
from .signature import HEADER, is_signed

StoreMessage = Callable[[WebhookMessage, bytes], Awaitable[bool]]
"""Stores a message with its body; returns False if it was stored before."""
BODY_TIMEOUT = 10.0
"""Seconds for a body to arrive."""


class Endpoint:
    """Answers ``POST /webhook``: 202 once the message is stored.

    Args:
        store: stores a message.
        secret: the key of the signature.
        max_bytes: the largest body.
        log: the logger for failures.
    """

    def __init__(
        self, store: StoreMessage, secret: bytes, max_bytes: int, log: logging.Logger
    ) -> None:
        self._store = store
        self._secret = secret
        self._max_bytes = max_bytes
        self._log = log

    async def __call__(self, request: Request) -> JSONResponse:
        """Check size, signature and body in this order, then store the message."""
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                body = await self._body(request)
        except (TimeoutError, ClientDisconnect):
            return _refusal(408, "the body did not arrive in time", **_CLOSE_CONNECTION)
        if body is None:
            return _refusal(
                413, f"the body is larger than {self._max_bytes} bytes", **_CLOSE_CONNECTION
            )
        if not is_signed(self._secret, body, request.headers.getlist(HEADER)):
            return _refusal(401, f"{HEADER} is missing or does not match the body")
        try:
            message = await parse_off_loop(parse_body, body)
        except InvalidBody as error:
            return _refusal(400, str(error))
        try:
            stored = await self._store(message, body)
        except HooklineError as error:
            self._log.error("message %s could not be stored: %s", message.id, error)
            return _refusal(503, "the message could not be stored; send it again later")
        return JSONResponse({"id": message.id, "known": not stored}, 202)

    async def _body(self, request: Request) -> bytes | None:
        """Read the body; None as soon as it is too large."""
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._max_bytes:
            return None
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._max_bytes:
                return None
        return bytes(body)


_CLOSE_CONNECTION = {"Connection": "close"}
"""Otherwise uvicorn would keep reading a refused body to its end."""


def _refusal(status: int, why: str, **headers: str) -> JSONResponse:
    return JSONResponse({"error": why}, status, headers)


def listener(endpoint: Callable[[Request], Awaitable[JSONResponse]]) -> Listener:
    """Return a server with the one route."""
    app = Starlette(routes=[Route("/webhook", endpoint, methods=["POST"])])
    app.router.redirect_slashes = False
    return Listener(app)
