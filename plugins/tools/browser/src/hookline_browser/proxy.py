"""Chromium's only connection to a network: an HTTP proxy on loopback.

The guarded client (:class:`Dialer`) opens every connection: it checks the name, resolves it once,
checks the addresses and connects to one of them. The proxy requires the password of a chat, so that
other programs of this machine and requests that Chromium makes by itself are rejected.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import secrets
from asyncio import StreamReader, StreamWriter
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from hookline_hookspecs import HooklineError, Refused

_MAX_HEADER_BYTES = 65_536
_HEADER_TIMEOUT = 30
_CHUNK_BYTES = 65_536
_MAX_CONNECTIONS = 128
"""Concurrent connections of a chat; Chromium itself makes 32."""
_MAX_RECORDED_HOSTS = 64
"""Refused or failed hosts of a chat that are kept for the next report."""
_REQUEST_LINE = re.compile(r"([A-Z]{3,10}) (\S{1,60000}) HTTP/1\.[01]")
_DROPPED_REQUEST_FIELDS = re.compile(rb"(?i)(proxy-[\w-]+|connection|keep-alive|te|upgrade)[ \t]*:")
_DROPPED_RESPONSE_FIELDS = re.compile(rb"(?i)(proxy-[\w-]+|connection|keep-alive)[ \t]*:")
_LENGTH = re.compile(rb"(?i)content-length[ \t]*:[ \t]*([0-9]{1,15})[ \t]*")
_CODING = re.compile(rb"(?i)transfer-encoding[ \t]*:")
_LOGIN = re.compile(rb"(?i)proxy-authorization[ \t]*:[ \t]*basic[ \t]+([\w+/=]{1,400})[ \t]*")


class Dialer(Protocol):
    """Opens checked connections; ``host.http`` is one."""

    async def connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """Return a connection. Raises ``Refused`` and other ``HooklineError``."""


@dataclass(eq=False)
class ProxyPass:
    """The login of a chat's browser context, with its traffic and its refused hosts.

    ``received`` counts bytes since the last :meth:`reset`; above ``limit`` the chat's connections
    are cut until the next reset. ``refused`` and ``failed`` are hosts with the reason.
    """

    name: str
    password: str
    limit: int
    received: int = 0
    refused: OrderedDict[str, str] = field(default_factory=OrderedDict)
    failed: OrderedDict[str, str] = field(default_factory=OrderedDict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        """Whether more was received than is allowed."""
        return self.received > self.limit

    def reset(self) -> None:
        """Reset the counter and the recorded hosts."""
        self.received = 0
        self.refused.clear()
        self.failed.clear()

    def record(self, hosts: OrderedDict[str, str], host: str, reason: str) -> None:
        """Record why a host was not reached."""
        hosts[host] = reason
        while len(hosts) > _MAX_RECORDED_HOSTS:
            hosts.popitem(last=False)

    def count(self, size: int) -> None:
        """Count bytes; above the limit, cut every connection of the chat."""
        self.received += size
        if self.is_over:
            self.cut()

    def cut(self) -> None:
        """End every connection of the chat."""
        for task in tuple(self.tasks):
            task.cancel()


class GuardedProxy:
    """The proxy of all chats. ``address`` is its URL once it is started."""

    address: str

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self._passes: dict[str, ProxyPass] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on a free port of loopback."""
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, limit=_MAX_HEADER_BYTES
        )
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def admit(self, limit: int) -> ProxyPass:
        """Create a pass. ``limit`` is in bytes."""
        new_pass = ProxyPass(secrets.token_hex(8), secrets.token_urlsafe(24), limit)
        self._passes[new_pass.name] = new_pass
        return new_pass

    def dismiss(self, proxy_pass: ProxyPass) -> None:
        """Revoke ``proxy_pass`` and cut its connections."""
        self._passes.pop(proxy_pass.name, None)
        proxy_pass.cut()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._handle(reader, writer, task)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the connection has ended
        finally:
            self._tasks.discard(task)
            for other in self._passes.values():
                other.tasks.discard(task)
            writer.close()

    async def _handle(
        self, reader: StreamReader, writer: StreamWriter, task: asyncio.Task[None]
    ) -> None:
        while True:
            async with asyncio.timeout(_HEADER_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
            first, *fields = head[:-4].split(b"\r\n")
            proxy_pass = self._authenticate(fields)
            if proxy_pass is not None:
                break
            # Chromium repeats the request on the same connection, with the password.
            if not await _ask_for_login(reader, writer, fields):
                return
        if proxy_pass.is_over or len(proxy_pass.tasks) >= _MAX_CONNECTIONS:
            return
        proxy_pass.tasks.add(task)
        line = _REQUEST_LINE.fullmatch(first.decode("latin-1"))
        target = _target(line) if line else None
        length = _length(fields)
        if line is None or target is None or (line[1] != "CONNECT" and length is None):
            return
        host, port, path = target
        try:
            remote_reader, remote_writer = await self._dialer.connect(host, port)
        except Refused as refusal:
            proxy_pass.record(proxy_pass.refused, host, str(refusal))
            return  # no answer, so that no text of ours is taken for a page
        except HooklineError as failure:
            proxy_pass.record(proxy_pass.failed, host, str(failure))
            return
        try:
            if line[1] == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _run_until_one_ends(
                    _relay(reader, remote_writer), _relay(remote_reader, writer, proxy_pass)
                )
            else:
                remote_writer.write(f"{line[1]} {path} HTTP/1.1\r\n".encode("latin-1"))
                remote_writer.write(_forwarded_header(fields, _DROPPED_REQUEST_FIELDS))
                await _relay_one_request(
                    reader, writer, remote_reader, remote_writer, length or 0, proxy_pass
                )
        finally:
            remote_writer.close()

    def _authenticate(self, fields: list[bytes]) -> ProxyPass | None:
        for line in fields:
            if (login := _LOGIN.fullmatch(line)) is None:
                continue
            try:
                name, _, password = base64.b64decode(login[1], validate=True).partition(b":")
            except binascii.Error:
                return None
            found = self._passes.get(name.decode("latin-1"))
            given = found is not None and secrets.compare_digest(found.password.encode(), password)
            return found if given else None
        return None


def _target(line: re.Match[str]) -> tuple[str, int, str] | None:
    """Host, port and path; None if the request is not understood."""
    method, url = line[1], line[2]
    try:
        parts = urlsplit(f"//{url}" if method == "CONNECT" else url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.username is not None:
        return None
    if method == "CONNECT":
        return (host, port, "") if port and not parts.path else None
    if parts.scheme != "http":
        return None
    return host, port or 80, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _forwarded_header(fields: list[bytes], dropped: re.Pattern[bytes]) -> bytes:
    """The header without proxy fields. One request per connection, so that each is checked."""
    lines = [line for line in fields if line and not dropped.match(line)]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


async def _ask_for_login(reader: StreamReader, writer: StreamWriter, fields: list[bytes]) -> bool:
    """Request the password. False if the connection cannot be used again."""
    length = _length(fields)
    reusable = length is not None and length <= _MAX_HEADER_BYTES
    writer.write(
        b"HTTP/1.1 407 Proxy Authentication Required\r\n"
        b'Proxy-Authenticate: Basic realm="hookline"\r\nContent-Length: 0\r\n'
        + (b"\r\n" if reusable else b"Connection: close\r\n\r\n")
    )
    await writer.drain()
    if reusable and length:
        await reader.readexactly(length)
    return reusable


def _length(fields: list[bytes]) -> int | None:
    """Bytes of the request's body; None if the header is ambiguous."""
    if any(_CODING.match(line) for line in fields):
        return None
    found = {int(match[1]) for line in fields if (match := _LENGTH.fullmatch(line))}
    return None if len(found) > 1 else next(iter(found), 0)


async def _relay_one_request(
    reader: StreamReader,
    writer: StreamWriter,
    remote_reader: StreamReader,
    remote_writer: StreamWriter,
    length: int,
    proxy_pass: ProxyPass,
) -> None:
    """Relay the body of one request and its response, then nothing more, because the next request
    on this connection may be for another host."""

    async def answer() -> None:
        while True:
            head = await remote_reader.readuntil(b"\r\n\r\n")
            proxy_pass.count(len(head))
            first, *rest = head[:-4].split(b"\r\n")
            final = not first.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1"))
            if first[9:12] == b"101":
                return  # not requested
            if final:
                writer.write(first + b"\r\n" + _forwarded_header(rest, _DROPPED_RESPONSE_FIELDS))
                break
        await _relay(remote_reader, writer, proxy_pass)

    await _run_until_one_ends(_relay_body(reader, remote_writer, length), answer())


async def _relay_body(reader: StreamReader, remote_writer: StreamWriter, length: int) -> None:
    """Relay the body, then wait until the browser disconnects or sends more."""
    while length > 0 and (data := await reader.read(min(length, _CHUNK_BYTES))):
        length -= len(data)
        remote_writer.write(data)
        await remote_writer.drain()
    await reader.read(1)


async def _run_until_one_ends(
    sending: Coroutine[Any, Any, None], receiving: Coroutine[Any, Any, None]
) -> None:
    """Run both until one of them ends."""
    tasks = [asyncio.create_task(other) for other in (sending, receiving)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _relay(
    source: StreamReader, target: StreamWriter, proxy_pass: ProxyPass | None = None
) -> None:
    while data := await source.read(_CHUNK_BYTES):
        if proxy_pass is not None:
            proxy_pass.count(len(data))
        target.write(data)
        await target.drain()
