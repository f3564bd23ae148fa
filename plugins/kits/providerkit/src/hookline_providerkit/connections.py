"""Connections to a model's server: :class:`Connections`, a transport for an ``httpx2`` client.

The transport of ``httpx2`` looks at every connection of its pool for each request and again for
each response, and asks the system about each of them: with fifty requests at a time this is a third
of all that a turn takes. Here a free connection is the last one that was returned. HTTP/1.1 itself
is ``h11``'s, names, sockets and TLS are asyncio's.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from functools import cache
from typing import Any, TypeAlias, cast
from urllib.request import getproxies

import h11
import httpx2

KEPT_SECONDS = 5.0
"""For how long a connection that nobody uses is kept, as by ``httpx2``."""
MOST_KEPT = 100
"""Connections that nobody uses, of one client."""
LARGEST_HEAD = 100 * 1024
"""Bytes of a response's status line and headers."""
JOINED = 65_536
"""Bytes of a body that is copied behind its headers, to be sent at once with them."""
MOST_UNREAD = 262_144
"""Bytes that are taken from the system before somebody reads them."""
HAPPY = 0.25
"""Seconds after which a name's next address is tried beside the one before (RFC 8305)."""
_ALIVE = {"SO_KEEPALIVE": 1, "TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5}
"""A connection whose other end is gone is found out by the system, as by the SDKs."""
Place: TypeAlias = "tuple[bytes, bytes, int | None]"


def direct_transport() -> Connections | None:
    """A transport; None where a proxy is configured, which the SDK's own transport knows."""
    return None if {"http", "https", "all"} & getproxies().keys() else Connections()


class Connections(httpx2.AsyncBaseTransport):
    """As many connections as there are requests at a time; they are used again for 5 seconds."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._kept: dict[Place, list[_Connection]] = {}
        self._open: set[_Connection] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the response is still to be read, and to be closed.

        Raises:
            httpx2.TransportError: of the kinds that the transport of ``httpx2`` raises.
        """
        seconds, url = request.extensions.get("timeout", {}), request.url
        place = (url.raw_scheme, url.raw_host, url.port)
        connection = self._free(place)
        if connection is None:
            connection = await self._connect(place, seconds.get("connect"))
            self._open.add(connection)
        try:
            await connection.send(request)
            head = await connection.head(seconds.get("read"))
        except BaseException:
            self._drop(connection)
            raise
        return httpx2.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Body(self, connection, seconds.get("read")),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )

    async def aclose(self) -> None:
        """Close all connections."""
        self._kept.clear()
        for connection in self._open:
            connection.close()
        self._open.clear()

    def _free(self, place: Place) -> _Connection | None:
        kept = self._kept.get(place)
        while kept:
            connection = kept.pop()
            if connection.take():
                return connection
            self._open.discard(connection)
        return None

    def release(self, connection: _Connection) -> None:
        """Keep a connection for the next request, unless its response was not read to the end."""
        if connection not in self._open or not connection.rest():
            self._drop(connection)
            return
        kept = self._kept.setdefault(connection.place, [])
        kept.append(connection)
        if len(kept) > MOST_KEPT:
            self._drop(kept.pop(0))

    async def _connect(self, place: Place, seconds: float | None) -> _Connection:
        scheme, host, port = place[0].decode(), place[1].decode("ascii"), place[2]
        if scheme not in ("http", "https"):
            raise httpx2.UnsupportedProtocol(f"The URL has the unsupported scheme {scheme!r}.")
        context = None
        if scheme == "https":
            context = self._context = self._context or await asyncio.to_thread(_context)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                transport, connection = await loop.create_connection(
                    lambda: _Connection(place),
                    host,
                    port or (80 if context is None else 443),
                    ssl=context,
                    server_hostname=None if context is None else host,
                    happy_eyeballs_delay=HAPPY,
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(str(error)) from error
        _keep_alive(transport.get_extra_info("socket"))
        return connection

    def _drop(self, connection: _Connection) -> None:
        self._open.discard(connection)
        connection.close()


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        self._waiting: asyncio.Future[None] | None = None
        self._unread = 0
        self._is_busy = True
        self._has_ended = False
        self._error: Exception | None = None
        self._until = 0.0

    # What asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self._is_busy:  # nothing was asked for
            self.close()
            return
        self._http.receive_data(data)
        self._unread += len(data)
        if self._unread > MOST_UNREAD:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._error = exc
        self._end()

    def _end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            if self._error is None:
                self._http.receive_data(b"")
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    # A request

    async def send(self, request: httpx2.Request) -> None:
        """Write a request. What becomes of it shows when the response is read."""
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        write = self._transport.write
        try:
            head = h11.Request(
                method=request.method, target=request.url.raw_path, headers=request.headers.raw
            )
            begun = self._http.send(head) or b""
            async for piece in request.stream:
                data = self._http.send(h11.Data(data=piece)) or b""
                if begun and len(data) <= JOINED:
                    data = begun + data
                elif begun:
                    write(begun)
                begun = b""
                write(data)
            write(begun + (self._http.send(h11.EndOfMessage()) or b""))
        except h11.LocalProtocolError as error:
            raise httpx2.LocalProtocolError(str(error)) from error

    async def head(self, seconds: float | None) -> h11.Response:
        """The response's status and headers."""
        while True:
            event = await self.event(seconds)
            if isinstance(event, h11.Response):
                return event

    async def event(self, seconds: float | None) -> Any:
        """The next thing that ``h11`` finds in what has come."""
        while True:
            begun = self._http.their_state is not h11.SEND_RESPONSE
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                said = str(error)
                if self._has_ended and not begun and not self._http.trailing_data[0]:
                    said = "the server disconnected without an answer"
                raise httpx2.RemoteProtocolError(said) from error
            if event is not h11.NEED_DATA:
                return event
            if self._error is not None:
                raise httpx2.ReadError(str(self._error)) from self._error
            if self._unread > MOST_UNREAD:
                self._transport.resume_reading()
            self._unread = 0
            await self._arrival(seconds)

    async def _arrival(self, seconds: float | None) -> None:
        self._waiting = waiting = self._loop.create_future()
        timer = None if seconds is None else self._loop.call_later(seconds, _late, waiting)
        try:
            await waiting
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()

    # Between requests

    def rest(self) -> bool:
        """Wait for another request; False if there cannot be one on this connection."""
        http = self._http
        if self._has_ended or not (http.our_state is http.their_state is h11.DONE):
            return False
        http.start_next_cycle()
        self._is_busy = False
        self._until = self._loop.time() + KEPT_SECONDS
        return not http.trailing_data[0]

    def take(self) -> bool:
        """Begin another request; False, and closed, if it has been idle for too long."""
        usable = not (self._has_ended or self._transport.is_closing())
        if usable and self._loop is asyncio.get_running_loop() and self._loop.time() < self._until:
            self._is_busy = True
            return True
        self.close()
        return False

    def close(self) -> None:
        """End the connection at once."""
        self._has_ended = True
        if not self._loop.is_closed():
            self._transport.abort()


class _Body(httpx2.AsyncByteStream):
    """The body of a response as it comes."""

    def __init__(
        self, connections: Connections, connection: _Connection, seconds: float | None
    ) -> None:
        self._connections = connections
        self._connection: _Connection | None = connection
        self._seconds = seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._connection is not None:
            event = await self._connection.event(self._seconds)
            if type(event) is not h11.Data:
                return
            yield bytes(event.data)

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._connections.release(connection)


def _late(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_exception(httpx2.ReadTimeout("nothing came in time"))


def _keep_alive(sock: Any) -> None:
    for name, value in _ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            level = socket.SOL_SOCKET if name.startswith("SO_") else socket.IPPROTO_TCP
            sock.setsockopt(level, option, value)


@cache
def _context() -> ssl.SSLContext:
    """One for all clients of the process: reading every certificate takes 20 ms."""
    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
