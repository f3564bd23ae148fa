"""The proxy: which clients and hosts it accepts, one request per connection."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hookline_browser.chat_context import ChatContext
from hookline_browser.config import BrowserConfig
from hookline_browser.proxy import GuardedProxy, ProxyPass
from hookline_hookspecs import HooklineError, Refused
from hypothesis import given
from hypothesis import strategies as st


class ProxiedHosts:
    """Hosts behind the proxy: what each was sent, and what it answers."""

    def __init__(self) -> None:
        self.dialled: list[tuple[str, int]] = []
        self.sent: list[bytes] = []
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    async def connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a host, or why not."""
        self.dialled.append((host, port))
        if host == "private.example":
            raise Refused("The host private.example is refused: it is private.")
        if host == "gone.example":
            raise HooklineError("The host gone.example was not found.")
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Note what comes within one read, and answer."""
        self.sent.append(await reader.read(65_536))
        writer.write(self.answer)
        await writer.drain()
        await reader.read()  # the client closes: some servers ignore `Connection: close`
        writer.close()


@asynccontextmanager
async def proxied_hosts(
    limit: int = 10_000,
) -> AsyncIterator[tuple[ProxiedHosts, GuardedProxy, ProxyPass]]:
    """Hosts, the proxy before them, and a pass."""
    made = ProxiedHosts()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    proxy = GuardedProxy(made)
    await proxy.start()
    try:
        yield made, proxy, proxy.admit(limit)
    finally:
        await proxy.stop()
        server.close()


def login(pass_: ProxyPass) -> str:
    """The header that a browser sends."""
    word = base64.b64encode(f"{pass_.name}:{pass_.password}".encode()).decode()
    return f"Proxy-Authorization: Basic {word}\r\n"


async def exchange(proxy: GuardedProxy, *parts: str | bytes) -> bytes:
    """The response to parts that are sent one after the other."""
    reader, writer = await asyncio.open_connection(
        *proxy.address.removeprefix("http://").split(":")
    )
    for part in parts:
        writer.write(part.encode() if isinstance(part, str) else part)
        await writer.drain()
    try:
        async with asyncio.timeout(60):
            data = b""
            while piece := await reader.read(65_536):
                data += piece
                if b"hi" in data or b"407" in data:
                    break
        return data
    except ConnectionError:
        return data
    finally:
        writer.close()


async def test_proxy_rejects_requests_without_a_pass() -> None:
    async with proxied_hosts() as (hosts, proxy, pass_):
        head = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
        assert b" 407 " in await exchange(proxy, f"{head}\r\n")
        wrong = login(ProxyPass(pass_.name, "wrong", 1))
        assert b" 407 " in await exchange(proxy, f"{head}{wrong}\r\n")
        assert b"hi" in await exchange(proxy, f"{head}{login(pass_)}\r\n")
        proxy.dismiss(pass_)
        assert b" 407 " in await exchange(proxy, f"{head}{login(pass_)}\r\n")
    assert hosts.dialled == [("a.example", 80)]


async def test_proxy_rejects_the_pass_of_a_closed_context(tmp_path: Path) -> None:
    async with proxied_hosts() as (hosts, proxy, pass_):
        context = ChatContext(BrowserConfig(), proxy, tmp_path)
        context.revoke_proxy_pass()  # a context that was never opened has none
        context.proxy_pass = pass_
        context.revoke_proxy_pass()
        head = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
        assert b" 407 " in await exchange(proxy, f"{head}{login(pass_)}\r\n")
    assert hosts.dialled == []


async def test_proxy_accepts_login_on_the_same_connection() -> None:
    async with proxied_hosts() as (hosts, proxy, pass_):
        reader, writer = await asyncio.open_connection(
            *proxy.address.removeprefix("http://").split(":")
        )
        head = "POST http://a.example/x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n"
        writer.write(f"{head}\r\nabc".encode())
        assert b" 407 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{head}{login(pass_)}\r\nabc".encode())
        assert (await reader.readuntil(b"hi")).startswith(b"HTTP/1.1 200")
        writer.close()
    (sent,) = hosts.sent
    assert sent.startswith(b"POST /x HTTP/1.1\r\n")
    assert sent.endswith(b"abc")
    assert b"Connection: close" in sent
    assert b"Proxy-" not in sent


async def test_proxy_drops_data_after_one_request() -> None:
    """The next request on a connection may be another host's, with its cookies."""
    async with proxied_hosts() as (hosts, proxy, pass_):
        first = f"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{login(pass_)}\r\n"
        second = "GET http://b.example/ HTTP/1.1\r\nHost: b.example\r\nCookie: secret=1\r\n\r\n"
        await exchange(proxy, first + second)
    assert b"secret" not in b"".join(hosts.sent)
    assert hosts.dialled == [("a.example", 80)]


async def test_proxy_response_announces_connection_close() -> None:
    async with proxied_hosts() as (hosts, proxy, pass_):
        hosts.answer = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi"
        head = f"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{login(pass_)}\r\n"
        told = await exchange(proxy, head)
    assert b"keep-alive" not in told
    assert b"Connection: close" in told


async def test_proxy_records_a_refused_host_and_sends_no_response() -> None:
    async with proxied_hosts() as (_, proxy, pass_):
        for host in ("private.example", "gone.example"):
            for line in (f"GET http://{host}/ HTTP/1.1", f"CONNECT {host}:443 HTTP/1.1"):
                assert await exchange(proxy, f"{line}\r\nHost: {host}\r\n{login(pass_)}\r\n") == b""
        assert list(pass_.refused) == ["private.example"]
        assert list(pass_.failed) == ["gone.example"]
        pass_.reset()
        assert not pass_.refused


async def test_proxy_tunnel_forwards_bytes() -> None:
    async with proxied_hosts() as (hosts, proxy, pass_):
        head = f"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n{login(pass_)}\r\n"
        told = await exchange(proxy, head, b"\x16\x03")
    assert told.startswith(b"HTTP/1.1 200 ")
    assert hosts.sent == [b"\x16\x03"]
    assert hosts.dialled == [("a.example", 443)]


async def test_proxy_cuts_off_a_chat_over_its_byte_limit() -> None:
    async with proxied_hosts(limit=1_000) as (hosts, proxy, pass_):
        hosts.answer = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5_000
        head = f"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{login(pass_)}\r\n"
        await exchange(proxy, head)
        assert pass_.is_over
        assert await exchange(proxy, head) == b""
        assert len(hosts.dialled) == 1
        pass_.reset()
        await exchange(proxy, head)
        assert len(hosts.dialled) == 2


@pytest.mark.parametrize(
    "line",
    [
        "GET / HTTP/1.1",
        "GET https://a.example/ HTTP/1.1",
        "GET ftp://a.example/ HTTP/1.1",
        "GET http:///x HTTP/1.1",
        "GET http://u:p@a.example/ HTTP/1.1",
        "GET http://a.example:x/ HTTP/1.1",
        "CONNECT a.example HTTP/1.1",
        "CONNECT a.example:443/x HTTP/1.1",
        "CONNECT a.example:99999 HTTP/1.1",
        "get http://a.example/ HTTP/1.1",
        "GET http://a.example/ HTTP/2",
        "",
    ],
)
async def test_proxy_drops_an_invalid_request(line: str) -> None:
    async with proxied_hosts() as (hosts, proxy, pass_):
        assert await exchange(proxy, f"{line}\r\n{login(pass_)}\r\n") == b""
        chunked = "POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
        assert await exchange(proxy, f"{chunked}{login(pass_)}\r\n0\r\n\r\n") == b""
    assert b"chunked" not in b"".join(hosts.sent)


@given(st.binary(max_size=300))
def test_proxy_sends_no_bytes_to_a_host_without_a_pass(data: bytes) -> None:
    async def story() -> list[tuple[str, int]]:
        async with proxied_hosts() as (hosts, proxy, _):
            reader, writer = await asyncio.open_connection(
                *proxy.address.removeprefix("http://").split(":")
            )
            writer.write(data + b"\r\n\r\n")
            writer.write_eof()
            async with asyncio.timeout(60):
                await reader.read()
            writer.close()
            return hosts.dialled

    assert asyncio.run(story()) == []
