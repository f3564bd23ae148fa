"""An HTTP proxy on a Unix socket, the only way from a sandbox to a network.

A guard is asked about every host; meanwhile the connection waits. The guarded client opens every
connection: it checks the name, resolves it once, checks the addresses and connects to one of them
(:class:`Dialer`). Names are never resolved inside.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import tempfile
from asyncio import StreamReader, StreamWriter
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from hookline_hookspecs import HooklineError, Refused

from .network_access import LOCALHOST, HostGuard, normalized

log = logging.getLogger("hookline.sandbox")
_HEAD = 65_536
"""Maximum bytes of a request's header."""
_HEAD_SECONDS = 30
_CHUNK = 65_536
_MAX_CONNECTIONS = 64
_LINE = re.compile(r"([A-Z]{3,10}) (\S{1,8000}) HTTP/1\.[01]")
_DROPPED = re.compile(rb"(?i)(proxy-[\w-]+|connection|keep-alive):")


class Dialer(Protocol):
    """Opens checked connections, as ``host.http`` does."""

    async def connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """Open a connection. Raises ``Refused`` and other ``HooklineError`` with sentences."""


class Proxy:
    """Serves programs on ``socket`` while the ``async with`` block runs.

    on_loopback: serve ``port`` of this machine instead, for macOS.
    guard: asked about every host; without one, every public address may be reached. It alone
    decides about ports of this machine.

    ``reached`` are the addresses that programs reached, ``refused`` why others were not, by
    address. ``requests`` counts those that were reached.
    """

    def __init__(
        self, dialer: Dialer, guard: HostGuard | None = None, *, on_loopback: bool = False
    ) -> None:
        self._dialer = dialer
        self._on_loopback = on_loopback
        self.port = 0
        self._guard = guard
        self._folder = tempfile.TemporaryDirectory(prefix="hookline-proxy-")
        self.socket = Path(self._folder.name) / "socket"
        self.requests = 0
        self._reached: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Proxy:
        if self._on_loopback:
            serving = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_HEAD)
            self.port = serving.sockets[0].getsockname()[1]
        else:
            bound = _bound(self.socket)
            serving = await asyncio.start_unix_server(self._serve, sock=bound, limit=_HEAD)
        self._server = serving
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        self._folder.cleanup()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if len(self._open) > _MAX_CONNECTIONS:
                await _answer(writer, "503 Service Unavailable", "Too many connections at once.")
                return
            await self._handle(reader, writer)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open.discard(task)
            await _close(writer)

    async def _handle(self, reader: StreamReader, writer: StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
        first, _, fields = head.partition(b"\r\n")
        line = _LINE.fullmatch(first.decode("latin-1"))
        where = _target(line) if line else None
        if line is None or where is None:
            await _answer(writer, "400 Bad Request", "Ask for CONNECT host:port or http://….")
            return
        host, port, path, shown = where
        try:
            there = await self._connect(host, port)
        except Refused as refusal:
            self.refused[shown] = str(refusal)
            await _answer(writer, "403 Forbidden", str(refusal))
            return
        except HooklineError as failure:
            await _answer(writer, "502 Bad Gateway", str(failure))
            return
        self._note(shown)
        if line[1] == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            there[1].write(f"{line[1]} {path} HTTP/1.1\r\n".encode("latin-1") + _kept(fields))
        await _join(reader, writer, *there)

    async def _connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """Open a connection if the guard permits it.

        Raises ``Refused`` and other ``HooklineError``.
        """
        if self._guard is not None:
            try:
                reason = await self._guard.refusal(host, port)
            except Exception as error:
                log.exception("the guard of the sandbox's network failed")
                raise Refused(f"The guard failed ({type(error).__name__}).") from error
            if reason is not None:
                raise Refused(reason)
            host = normalized(host)  # what the guard has permitted, and nothing that is read as it
            if host == LOCALHOST:
                return await _connect_here(port)
        return await self._dialer.connect(host, port)

    def take_refused(self) -> dict[str, str]:
        """Return ``refused``, and empty it."""
        found, self.refused = self.refused, {}
        return found

    @property
    def reached(self) -> list[str]:
        """Every address that was reached."""
        return list(self._reached)

    def reached_since(self, requests: int) -> list[str]:
        """Return the addresses reached since ``self.requests`` had this value."""
        return [shown for shown, last in self._reached.items() if last > requests]

    def _note(self, shown: str) -> None:
        self.requests += 1
        self._reached[shown] = self.requests


async def _connect_here(port: int) -> tuple[StreamReader, StreamWriter]:
    """Connect to a port of this machine, over IPv4 or else IPv6. Raises ``HooklineError``."""
    for address in ("127.0.0.1", "::1"):
        with contextlib.suppress(OSError):
            return await asyncio.open_connection(address, port)
    raise HooklineError(f"Nothing listens on port {port} of this machine.")


def _bound(path: Path) -> socket.socket:
    """Return a socket at ``path``, bound by folder descriptor: the limit is 107 bytes (unix(7))."""
    made = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        made.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    return made


def _target(line: re.Match[str]) -> tuple[str, int, str, str] | None:
    """Return host, port, path and the address to show; None for an invalid request."""
    method, asked = line[1], line[2]
    try:
        parts = urlsplit(f"//{asked}" if method == "CONNECT" else asked)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.username is not None:
        return None
    if method == "CONNECT":
        shown = f"https://{parts.netloc.removesuffix(':443')}"
        return (host, port, "", shown) if port else None
    if parts.scheme != "http":
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return host, port or 80, path, f"http://{parts.netloc}{parts.path}"


def _kept(fields: bytes) -> bytes:
    """Return the header without the proxy's fields. A connection carries one request."""
    lines = [line for line in fields.split(b"\r\n") if line and not _DROPPED.match(line)]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


async def _join(
    reader: StreamReader, writer: StreamWriter, theirs: StreamReader, there: StreamWriter
) -> None:
    """Pass bytes on in both directions until both sides have ended."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_pass(reader, there))
            group.create_task(_pass(theirs, writer))
    except* OSError:
        pass
    finally:
        await _close(there)


async def _pass(source: StreamReader, target: StreamWriter) -> None:
    while data := await source.read(_CHUNK):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        with contextlib.suppress(OSError):
            target.write_eof()


async def _answer(writer: StreamWriter, status: str, sentence: str) -> None:
    body = f"Hookline's sandbox: {sentence}\n".encode()
    writer.write(
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        + body
    )
    await writer.drain()


async def _close(writer: StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.close()
        await writer.wait_closed()
