"""A light HTTP/1.1 client and server, so that thousands of messages cost little."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TypeAlias

SECRET = "correct horse battery staple"
HEADER = "X-Hookline-Signature"
PATIENCE = 120.0
"""Seconds until a request, a start or a wait is given up; none takes so long."""


def signature(body: bytes) -> str:
    """The value of :data:`HEADER` for a body."""
    return "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


class Line:
    """A connection to the webhook, opened when it is needed and kept."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes) -> int:
        """Post a signed body; the status. Raises ``OSError`` if nobody answers."""
        head = (
            f"POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
            f"{HEADER}: {signature(body)}\r\n\r\n"
        )
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._exchange(head.encode() + body)
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            self.close()
            raise ConnectionError(str(error)) from error

    async def _exchange(self, request: bytes) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(headers_of(head).get("content-length", "0")))
        return int(head.split(b" ", 2)[1])

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


def headers_of(head: bytes) -> dict[str, str]:
    """The headers of a request or a response, names in lower case."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


Answer: TypeAlias = "tuple[int, Mapping[str, str]] | None"
"""Status and headers; None: hang up without a word."""
Handler: TypeAlias = Callable[[Mapping[str, str], bytes], Awaitable[Answer]]
"""Answers a request's headers and body."""


class Server:
    """Answers every request by ``handle``, on a port of its own."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None
        self.port = 0

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._serving.values():
            writer.transport.abort()
        await asyncio.gather(*self._serving)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = writer
        try:
            while True:
                headers = headers_of(await reader.readuntil(b"\r\n\r\n"))
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                answer = await self._handle(headers, body)
                if answer is None:
                    break
                writer.write(_response(*answer))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            del self._serving[task]
            writer.transport.abort()


def _response(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"{name}: {value}\r\n" for name, value in {"Content-Length": "0", **headers}.items()]
    return f"HTTP/1.1 {status} -\r\n{''.join(lines)}\r\n".encode()
