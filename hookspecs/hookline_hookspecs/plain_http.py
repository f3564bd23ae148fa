"""Finds out whether a server that did not begin TLS speaks plain HTTP."""

from __future__ import annotations

import asyncio
import re
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

PROBE_TIMEOUT = 2.0
"""Seconds for the server to answer."""
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")


async def plain_http_advice(
    url: str, connect: Callable[[str, int], Awaitable[tuple[StreamReader, StreamWriter]]]
) -> str:
    """Return a sentence that names the right address if the server speaks plain HTTP; else empty.

    Call it after a connection to an ``https:`` address failed. It sends a request without path,
    headers or credentials; many servers let the client wait when they read TLS instead.

    Args:
        url: the address.
        connect: opens a connection to a host and port; its errors mean that nothing is known.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError:
        return ""
    if parts.scheme.lower() != "https" or not host:
        return ""
    with suppress(Exception):
        async with asyncio.timeout(PROBE_TIMEOUT):
            reader, writer = await connect(host, port)
            try:
                name = f"[{host}]" if ":" in host else host
                writer.write(
                    f"HEAD / HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n".encode()
                )
                answer = _STATUS.match(await reader.read(64))
            finally:
                writer.close()
        # A server with TLS may also answer in plain HTTP: 400, that it wants TLS.
        if answer and answer[1] != b"400":
            return f"{name}:{port} speaks plain HTTP. Write http:// instead of https://"
    return ""
