"""The proxy of the sandbox: what is passed on, and what is refused."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from hookline_hookspecs import HooklineError, Refused
from hookline_sandbox.proxy import Proxy


class Dialer:
    """Leads ``*.public.example`` to a local server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[tuple[str, int]] = []

    async def connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        self.asked.append((host, port))
        if host == "gone.example":
            raise HooklineError("It was not found.")
        if not host.endswith("public.example"):
            raise Refused(f"The host {host} is refused.")
        return await asyncio.open_connection("127.0.0.1", self.port)


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    """A server that sends back what it gets, up to the end of a header."""

    async def answer(reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            writer.write(b"got " + await reader.readuntil(b"\r\n\r\n"))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def ask(proxy: Proxy, request: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(proxy.socket)
    writer.write(request)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    return answer


async def test_plain_request_is_forwarded_without_proxy_headers(echo: int) -> None:
    dialer = Dialer(echo)
    async with Proxy(dialer) as proxy:
        head = b"Host: x\r\nProxy-Authorization: secret\r\nConnection: keep-alive\r\n\r\n"
        answer = await ask(proxy, b"GET http://public.example:81/a?b HTTP/1.1\r\n" + head)
    assert answer == b"got GET /a?b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert dialer.asked == [("public.example", 81)]
    assert proxy.reached == ["http://public.example:81/a"]


async def test_tunnel_carries_bytes_both_ways(echo: int) -> None:
    async with Proxy(Dialer(echo)) as proxy:
        reader, writer = await asyncio.open_unix_connection(proxy.socket)
        writer.write(b"CONNECT a.public.example:443 HTTP/1.1\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"\x16\x03\x01\r\n\r\n")
        assert await reader.read() == b"got \x16\x03\x01\r\n\r\n"
        writer.close()
    assert proxy.reached == ["https://a.public.example"]


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET http://169.254.169.254/latest/meta-data HTTP/1.1", "403"),
        ("CONNECT metadata.google.internal:80 HTTP/1.1", "403"),
        ("CONNECT [::1]:22 HTTP/1.1", "403"),
        ("GET http://public.example@10.0.0.1/ HTTP/1.1", "400"),
        ("CONNECT public.example HTTP/1.1", "400"),
        ("GET / HTTP/1.1", "400"),
        ("GET https://public.example/ HTTP/1.1", "400"),
        ("GET file:///etc/passwd HTTP/1.1", "400"),
        ("GET http://public.example:99999/ HTTP/1.1", "400"),
        ("nonsense", "400"),
        ("GET http://gone.example/ HTTP/1.1", "502"),
    ],
)
async def test_refused_request_gets_an_explanation(
    echo: int, request_line: str, status: str
) -> None:
    async with Proxy(Dialer(echo)) as proxy:
        answer = await ask(proxy, request_line.encode() + b"\r\n\r\n")
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Hookline's sandbox: " in answer
    assert proxy.reached == []


async def test_proxy_closes_open_connections_when_it_ends(echo: int) -> None:
    async with Proxy(Dialer(echo)) as proxy:
        reader, writer = await asyncio.open_unix_connection(proxy.socket)
        writer.write(b"CONNECT public.example:443 HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    assert not proxy.socket.exists()


async def test_endless_header_is_cut_off(echo: int) -> None:
    async with Proxy(Dialer(echo)) as proxy:
        try:
            answer: Any = await ask(
                proxy, b"GET http://public.example/ HTTP/1.1\r\nX: " + b"x" * 200_000
            )
        except OSError:
            answer = b""
    assert b"got" not in answer
