"""HTTP for MCP over the guarded network: ``host.http`` opens every connection."""

from __future__ import annotations

import asyncio
import json
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import httpcore2
import httpx2
from hookline_hookspecs import HooklineError
from hookline_hookspecs.plain_http import plain_http_advice

from .readable_messages import EVENTS_TYPE, JSON_TYPE, error_body, readable_body, readable_events

MAX_BODY_BYTES = 16_777_216
"""Bytes of one response. An event stream may be longer, but not a single event."""
TRACE_HEADERS = ("traceparent", "tracestate")
CONNECT_TIMEOUT = 10.0
"""Seconds to begin TLS; less than ``connect_timeout``, so that the error can give the reason."""
MAX_CONNECTIONS = 16
"""Concurrent connections to one server."""


_STATUSES_OF_SDK = (401, 403, 404)
"""Statuses that mean something to the SDK: a login, a wider scope, an ended session."""
_OWN_HEADERS = frozenset(
    {"accept", "connection", "content-length", "content-type", "host", "last-event-id"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)


class Dialer(Protocol):
    """Opens connections to addresses that the guard allows; ``host.http`` is one."""

    async def connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """Return a connection. Raises ``HooklineError``."""


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        with _map_errors(httpcore2.ReadTimeout, httpcore2.ReadError):
            return await asyncio.wait_for(self._reader.read(max_bytes), timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        with _map_errors(httpcore2.WriteTimeout, httpcore2.WriteError):
            self._writer.write(buffer)
            await asyncio.wait_for(self._writer.drain(), timeout)

    async def aclose(self) -> None:
        with suppress(OSError):
            self._writer.close()
            await self._writer.wait_closed()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        with _map_errors(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            call = self._writer.start_tls(ssl_context, server_hostname=server_hostname)
            await asyncio.wait_for(call, timeout)
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # readable while idle: the peer closed it
            return self._reader.at_eof() or bool(getattr(self._reader, "_buffer", b""))
        return self._writer.get_extra_info(info)


@contextmanager
def _map_errors(late: type[Exception], broken: type[Exception]) -> Any:
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:
        raise broken(str(error)) from error


class _Backend(httpcore2.AsyncNetworkBackend):
    """``refusal`` says why the last refused connection was refused."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self.refusal = ""

    async def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> _Stream:
        try:
            return _Stream(*await self._dialer.connect(host, port))
        except HooklineError as error:
            self.refusal = str(error)
            raise httpcore2.ConnectError(self.refusal) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Body(httpx2.AsyncByteStream):
    """A response's body: events so that the SDK can read them."""

    def __init__(self, response: httpcore2.Response, kind: bytes) -> None:
        self._response = response
        self._limit = None if kind.startswith(EVENTS_TYPE) else MAX_BODY_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = self._chunks()
        async for part in readable_events(chunks) if self._limit is None else chunks:
            yield part

    async def _chunks(self) -> AsyncIterator[bytes]:
        taken = 0
        try:
            async for chunk in self._response.aiter_stream():
                taken += len(chunk)
                if self._limit is not None and taken > self._limit:
                    raise httpx2.ReadError(f"the response is larger than {self._limit:,} bytes")
                yield chunk
        except (httpcore2.TimeoutException, httpcore2.NetworkError) as error:
            raise httpx2.ReadError(str(error)) from error
        except httpcore2.ProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error

    async def aclose(self) -> None:
        await self._response.aclose()


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests over connections that the dialer opens, without redirects and proxies."""

    def __init__(self, dialer: Dialer) -> None:
        self.status = 0
        """The last error status; 0 if there was none."""
        self._dialer = dialer
        self._backend = _Backend(dialer)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=MAX_CONNECTIONS,
            network_backend=self._backend,
        )

    @property
    def refusal(self) -> str:
        """Why the last refused connection was refused; empty if none was."""
        return self._backend.refusal

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        target = httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        try:
            response = await self._pool.handle_async_request(
                httpcore2.Request(
                    method=request.method,
                    url=target,
                    headers=[*request.headers.raw, *_trace_headers(request)],
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        except (httpcore2.ConnectTimeout, httpcore2.ConnectError) as error:
            advice = "" if self.refusal else await plain_http_advice(str(url), self._dialer.connect)
            raise httpx2.ConnectError(advice or str(error), request=request) from error
        except (httpcore2.TimeoutException, httpcore2.NetworkError) as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        except httpcore2.ProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error), request=request) from error
        if response.status >= 400:
            self.status = response.status
        headers = [(name.lower(), value) for name, value in response.headers]
        kind = dict(headers).get(b"content-type", b"").lower()
        body: httpx2.AsyncByteStream = _Body(response, kind)
        if not kind.startswith(EVENTS_TYPE) and (kind or request.method == "POST"):
            body, kind = await _read_body(request, response.status, body, kind)
            # The length may change, and nothing is compressed: it was not asked for.
            changed = (b"content-length", b"content-type", b"transfer-encoding")
            headers = [one for one in headers if one[0] not in changed]
            headers += [(b"content-type", kind)] if kind else []
        elif kind:
            headers = [one for one in headers if one[0] != b"content-length"]
        return httpx2.Response(
            response.status, headers=headers, stream=body, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


async def _read_body(
    request: httpx2.Request, status: int, body: httpx2.AsyncByteStream, kind: bytes
) -> tuple[httpx2.AsyncByteStream, bytes]:
    """Read a response that is no event stream; return its body and type as the SDK reads them."""
    try:
        data = b"".join([chunk async for chunk in body])
    finally:
        await body.aclose()
    data, kind = readable_body(data, kind)
    is_message = kind.startswith((JSON_TYPE, EVENTS_TYPE)) and b'"jsonrpc"' in data
    if status >= 400 and status not in _STATUSES_OF_SDK and not is_message:
        sent = request.content if isinstance(request.stream, httpx2.ByteStream) else b""
        if told := error_body(sent, status, data):
            data, kind = told, JSON_TYPE
    return httpx2.ByteStream(data), kind


def _trace_headers(request: httpx2.Request) -> list[tuple[bytes, bytes]]:
    """Return the trace of a message's ``_meta`` as headers, which proxies and servers read, too."""
    body = request.content if isinstance(request.stream, httpx2.ByteStream) else b""
    if b'"traceparent"' not in body:
        return []
    try:
        meta = json.loads(body)["params"]["_meta"]
        found = {name: meta[name] for name in TRACE_HEADERS if isinstance(meta.get(name), str)}
    except (ValueError, TypeError, KeyError, AttributeError):
        return []
    known = {name.lower() for name in request.headers}
    return [
        (name.encode(), value.encode())
        for name, value in found.items()
        if name not in known and value.isascii() and value.isprintable()
    ]


def client(
    dialer: Dialer, headers: Mapping[str, str], timeout: float, auth: httpx2.Auth | None = None
) -> tuple[httpx2.AsyncClient, GuardedTransport]:
    """Return a client for one server, and its transport. ``timeout`` is for reading, in seconds.

    ``headers`` do not replace those by which HTTP and MCP work.
    """
    transport = GuardedTransport(dialer)
    made = httpx2.AsyncClient(
        transport=transport,
        headers={
            name: value
            for name, value in headers.items()
            if name.lower() not in _OWN_HEADERS and not name.lower().startswith("mcp-")
        },
        auth=auth,
        timeout=httpx2.Timeout(30.0, connect=CONNECT_TIMEOUT, read=max(timeout, 300.0)),
        trust_env=False,
        follow_redirects=False,
    )
    return made, transport
