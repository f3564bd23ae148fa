"""Chromium's only way to a network: an HTTP proxy on loopback.

Every connection is opened by the guarded client (:class:`Dialer`), which judges the name, looks it
up once, judges the addresses and dials one of these. Who has no password of a chat gets nowhere,
so neither another program of this machine nor a request that Chromium makes by itself passes.
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

_HEAD = 65_536
"""Bytes of a header."""
_HEAD_SECONDS = 30
_CHUNK = 65_536
_MOST = 128
"""Connections of a chat at once; Chromium itself makes 32."""
_REMEMBERED = 64
"""Refused hosts of a chat that are remembered for the next report."""
_LINE = re.compile(r"([A-Z]{3,10}) (\S{1,60000}) HTTP/1\.[01]")
_DROPPED = re.compile(rb"(?i)(proxy-[\w-]+|connection|keep-alive|te|upgrade)[ \t]*:")
_DROPPED_BACK = re.compile(rb"(?i)(proxy-[\w-]+|connection|keep-alive)[ \t]*:")
_LENGTH = re.compile(rb"(?i)content-length[ \t]*:[ \t]*([0-9]{1,15})[ \t]*")
_CODING = re.compile(rb"(?i)transfer-encoding[ \t]*:")
_LOGIN = re.compile(rb"(?i)proxy-authorization[ \t]*:[ \t]*basic[ \t]+([\w+/=]{1,400})[ \t]*")


class Dialer(Protocol):
    """Opens vetted connections; ``host.http`` is one."""

    async def connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """Return a connection. Raises ``Refused`` and other ``HooklineError`` with sentences."""


@dataclass(eq=False)
class Pass:
    """What lets a chat's browser context through, and what came and was refused on its way.

    ``received`` counts the bytes since the last :meth:`reset`; over ``limit`` bytes the chat's
    connections are cut, until the next one. ``refused`` are hosts, each with the reason.
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
        """True once more has come than is allowed."""
        return self.received > self.limit

    def reset(self) -> None:
        """Begin to count and to note anew."""
        self.received = 0
        self.refused.clear()
        self.failed.clear()

    def note(self, kept: OrderedDict[str, str], host: str, reason: str) -> None:
        """Remember why a host was not reached."""
        kept[host] = reason
        while len(kept) > _REMEMBERED:
            kept.popitem(last=False)

    def count(self, size: int) -> None:
        """Count bytes; cut every connection of the chat when they are too many."""
        self.received += size
        if self.is_over:
            self.cut()

    def cut(self) -> None:
        """End every connection of the chat."""
        for task in tuple(self.tasks):
            task.cancel()


class Proxy:
    """Serves the browser contexts of all chats. ``address`` is where, once it is started."""

    address: str

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self._passes: dict[str, Pass] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on a port of loopback that the system chooses."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_HEAD)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def admit(self, limit: int) -> Pass:
        """Return a new pass. ``limit`` is in bytes."""
        made = Pass(secrets.token_hex(8), secrets.token_urlsafe(24), limit)
        self._passes[made.name] = made
        return made

    def dismiss(self, pass_: Pass) -> None:
        """Let nothing through with ``pass_`` any more."""
        self._passes.pop(pass_.name, None)
        pass_.cut()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._handle(reader, writer, task)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the connection ends, whoever ended it
        finally:
            self._tasks.discard(task)
            for one in self._passes.values():
                one.tasks.discard(task)
            writer.close()

    async def _handle(
        self, reader: StreamReader, writer: StreamWriter, task: asyncio.Task[None]
    ) -> None:
        while True:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            first, *fields = head[:-4].split(b"\r\n")
            bearer = self._bearer(fields)
            if bearer is not None:
                break
            # Chromium asks again on the same connection, with the password that it has then.
            if not await _ask_for_login(reader, writer, fields):
                return
        if bearer.is_over or len(bearer.tasks) >= _MOST:
            return
        bearer.tasks.add(task)
        line = _LINE.fullmatch(first.decode("latin-1"))
        where = _target(line) if line else None
        length = _length(fields)
        if line is None or where is None or (line[1] != "CONNECT" and length is None):
            return
        host, port, path = where
        try:
            theirs, there = await self._dialer.connect(host, port)
        except Refused as refusal:
            bearer.note(bearer.refused, host, str(refusal))
            return  # without an answer: nothing of ours ever stands in a page's place
        except HooklineError as failure:
            bearer.note(bearer.failed, host, str(failure))
            return
        try:
            if line[1] == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _both(_pass(reader, there), _pass(theirs, writer, bearer))
            else:
                there.write(f"{line[1]} {path} HTTP/1.1\r\n".encode("latin-1"))
                there.write(_kept(fields, _DROPPED))
                await _once(reader, writer, theirs, there, length or 0, bearer)
        finally:
            there.close()

    def _bearer(self, fields: list[bytes]) -> Pass | None:
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
    """Host, port and path; None for what is not understood."""
    method, asked = line[1], line[2]
    try:
        parts = urlsplit(f"//{asked}" if method == "CONNECT" else asked)
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


def _kept(fields: list[bytes], dropped: re.Pattern[bytes]) -> bytes:
    """The header without what is the proxy's. One request a connection, so that each is judged."""
    lines = [line for line in fields if line and not dropped.match(line)]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


async def _ask_for_login(reader: StreamReader, writer: StreamWriter, fields: list[bytes]) -> bool:
    """Ask for a password; False if the connection cannot be used again."""
    length = _length(fields)
    reusable = length is not None and length <= _HEAD
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
    """Bytes of the request's body; None if the header does not say it plainly."""
    if any(_CODING.match(line) for line in fields):
        return None
    found = {int(match[1]) for line in fields if (match := _LENGTH.fullmatch(line))}
    return None if len(found) > 1 else next(iter(found), 0)


async def _once(
    reader: StreamReader,
    writer: StreamWriter,
    theirs: StreamReader,
    there: StreamWriter,
    length: int,
    bearer: Pass,
) -> None:
    """Pass on one request's body and its response, then nothing more: what Chromium would send on
    this connection next may be for another host."""

    async def answer() -> None:
        while True:
            head = await theirs.readuntil(b"\r\n\r\n")
            bearer.count(len(head))
            first, *rest = head[:-4].split(b"\r\n")
            final = not first.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1"))
            if first[9:12] == b"101":
                return  # not asked for
            if final:
                writer.write(first + b"\r\n" + _kept(rest, _DROPPED_BACK))
                break
        await _pass(theirs, writer, bearer)

    await _both(_send(reader, there, length), answer())


async def _send(reader: StreamReader, there: StreamWriter, length: int) -> None:
    """Pass the body on, then wait until the browser has gone or says more than it may."""
    while length > 0 and (data := await reader.read(min(length, _CHUNK))):
        length -= len(data)
        there.write(data)
        await there.drain()
    await reader.read(1)


async def _both(sending: Coroutine[Any, Any, None], receiving: Coroutine[Any, Any, None]) -> None:
    """Run both until one side has ended."""
    tasks = [asyncio.create_task(one) for one in (sending, receiving)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass(source: StreamReader, target: StreamWriter, bearer: Pass | None = None) -> None:
    while data := await source.read(_CHUNK):
        if bearer is not None:
            bearer.count(len(data))
        target.write(data)
        await target.drain()
