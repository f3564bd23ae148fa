"""The transport: connections that are used again, and every way in which one may fail."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest
from hookline_providerkit import Boundary, Failures, connections
from hookline_providerkit.connections import Connections
from hypothesis import given, settings
from hypothesis import strategies as st

WAIT = 60.0
"""Seconds for what comes at once on a machine that is not busy."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers each request with ``answer(writer, body)``; a connection is kept until it ends."""

    def __init__(self, answer: Callable[[asyncio.StreamWriter, bytes], Awaitable[object]]) -> None:
        self._answer = answer
        self.url = ""
        self.writers: list[asyncio.StreamWriter] = []
        """One for each connection that was opened."""
        self.ended = asyncio.Event()
        """The client has closed a connection."""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0] or b"0")
                await self._answer(writer, await reader.readexactly(length))
                await writer.drain()
        self.ended.set()
        writer.close()


async def said(writer: asyncio.StreamWriter, _body: bytes) -> None:
    writer.write(OK)


@asynccontextmanager
async def serving(
    answer: Callable[[asyncio.StreamWriter, bytes], Awaitable[object]] = said,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Server]:
    server = Server(answer)
    async with asyncio.timeout(WAIT):
        listening = await asyncio.start_server(server.take, "127.0.0.1", 0, ssl=tls)
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        try:
            yield server
        finally:
            listening.close()
            for writer in server.writers:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()


def client(
    seconds: float | None = WAIT, context: ssl.SSLContext | None = None
) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=Connections(context), timeout=httpx2.Timeout(seconds))


async def test_a_connection_is_used_again_and_each_request_at_a_time_has_its_own() -> None:
    async with serving() as server, client() as http:
        for _ in range(3):
            assert (await http.post(server.url, content=b"x")).text == "ok"
        assert len(server.writers) == 1
        await asyncio.gather(*(http.post(server.url, content=b"x") for _ in range(5)))
        assert len(server.writers) == 5
        await asyncio.gather(*(http.post(server.url, content=b"x") for _ in range(5)))
        assert len(server.writers) == 5


async def test_a_connection_that_was_idle_for_long_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "KEPT_SECONDS", 0.0)
    async with serving() as server, client() as http:
        for _ in range(2):
            await http.post(server.url)
        assert len(server.writers) == 2
        await server.ended.wait()


async def test_no_more_idle_connections_are_kept_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "MOST_KEPT", 1)
    async with serving() as server, client() as http:
        await asyncio.gather(*(http.post(server.url) for _ in range(2)))
        await server.ended.wait()
        await http.post(server.url)
        assert len(server.writers) == 2


@pytest.mark.parametrize("more", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"])
async def test_what_a_server_does_between_requests_reaches_no_request(more: bytes) -> None:
    """It closes the connection, or speaks without having been asked."""
    async with serving() as server, client() as http:
        await http.post(server.url)
        writer = server.writers[0]
        if more:
            writer.write(more)
        else:
            writer.close()
        await server.ended.wait()
        await asyncio.sleep(0)  # the end has come: so has everything before it
        assert (await http.post(server.url)).text == "ok"
        assert len(server.writers) == 2


async def test_more_than_one_answer_to_a_request_ends_the_connection() -> None:
    async def twice(writer: asyncio.StreamWriter, _body: bytes) -> None:
        writer.write(OK + OK.replace(b"ok", b"no"))

    async with serving(twice) as server, client() as http:
        for _ in range(2):
            assert (await http.post(server.url)).text == "ok"
        assert len(server.writers) == 2


async def test_a_response_that_is_not_read_to_its_end_ends_the_connection() -> None:
    async def endless(writer: asyncio.StreamWriter, _body: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun")

    async with serving(endless) as server, client() as http:
        async with http.stream("POST", server.url) as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == b"begun"
            await pieces.aclose()  # type: ignore[attr-defined]
        await server.ended.wait()


async def test_a_cancelled_request_ends_its_connection() -> None:
    asked = asyncio.Event()

    async def silent(_writer: asyncio.StreamWriter, _body: bytes) -> None:
        asked.set()

    async with serving(silent) as server, client() as http:
        task = asyncio.ensure_future(http.post(server.url))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.ended.wait()


FAULTS: list[tuple[bytes, type[Exception], str]] = [
    (b"", httpx2.RemoteProtocolError, "without an answer"),
    (b"HTTP/1.1 200 OK\r\nContent-Le", httpx2.RemoteProtocolError, "closed"),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        httpx2.RemoteProtocolError,
        "complete message body",
    ),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        httpx2.RemoteProtocolError,
        "complete message body",
    ),
    (b"SSH-2.0-OpenSSH\r\n\r\n", httpx2.RemoteProtocolError, "illegal"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, httpx2.RemoteProtocolError, "too l"),
]


@pytest.mark.parametrize(("answer", "kind", "words"), FAULTS)
async def test_an_answer_that_breaks_off_or_is_none(
    answer: bytes, kind: type[Exception], words: str
) -> None:
    async def broken(writer: asyncio.StreamWriter, _body: bytes) -> None:
        writer.write(answer)
        writer.close()

    async with serving(broken) as server, client() as http:
        with pytest.raises(kind, match=words):
            await http.post(server.url)


async def test_a_connection_that_is_reset() -> None:
    async def reset(writer: asyncio.StreamWriter, _body: bytes) -> None:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with serving(reset) as server, client() as http:
        with pytest.raises(httpx2.ReadError):
            await http.post(server.url)


async def test_a_server_that_says_nothing() -> None:
    async def silent(_writer: asyncio.StreamWriter, _body: bytes) -> None:
        pass

    async with serving(silent) as server, client(0.05) as http:
        with pytest.raises(httpx2.ReadTimeout):
            await http.post(server.url)
        await server.ended.wait()


async def test_nobody_listens() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    async with client() as http:
        with pytest.raises(httpx2.ConnectError):
            await http.post(f"http://127.0.0.1:{port}/")
        with pytest.raises(httpx2.ConnectError):
            await http.post("http://no-such-host.invalid/")


@pytest.mark.parametrize(
    ("url", "headers", "kind"),
    [
        ("ftp://127.0.0.1/", {}, httpx2.UnsupportedProtocol),
        ("", {"X-Name": "two\nlines"}, httpx2.LocalProtocolError),
    ],
)
async def test_what_cannot_be_sent(
    url: str, headers: dict[str, str], kind: type[Exception]
) -> None:
    async with serving() as server, client() as http:
        with pytest.raises(kind):
            await http.post(url or server.url, headers=headers)


async def test_large_bodies_pass_whole_though_nobody_reads_for_a_while() -> None:
    body = bytes(range(256)) * 40_000  # 10 MB

    async def echo(writer: asyncio.StreamWriter, received: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(received))
        writer.write(received)

    async with serving(echo) as server, client() as http:
        for _ in range(2):
            async with http.stream("POST", server.url, content=body) as response:
                for _ in range(20):
                    await asyncio.sleep(0)
                assert await response.aread() == body
        assert len(server.writers) == 1


@settings(max_examples=30)
@given(
    chunks=st.lists(st.binary(min_size=1, max_size=2000), max_size=8),
    shape=st.sampled_from(["chunked", "length", "end"]),
    cuts=st.lists(st.integers(0, 6000), max_size=6),
)
def test_any_body_in_any_pieces(chunks: list[bytes], shape: str, cuts: list[int]) -> None:
    body = b"".join(chunks)
    data = {
        "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
        + b"0\r\n\r\n",
        "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body),
        "end": b"HTTP/1.0 200 OK\r\n\r\n" + body,
    }[shape]

    async def pieces(writer: asyncio.StreamWriter, _body: bytes) -> None:
        ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
        for start, end in itertools.pairwise(ends):
            writer.write(data[start:end])
            await asyncio.sleep(0)
        if shape == "end":
            writer.close()

    async def run() -> None:
        async with serving(pieces) as server, client() as http:
            for _ in range(2):
                assert (await http.post(server.url)).content == body
            assert len(server.writers) == (2 if shape == "end" else 1)

    asyncio.run(run())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context, and a client's that trusts it, for ``localhost``."""
    folder: Path = tmp_path_factory.mktemp("tls")
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-days", "2"]
    subprocess.run(
        [*command, "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=cert)


async def test_tls_is_verified_and_the_connection_used_again(
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    theirs, ours = certificate
    async with serving(tls=theirs) as server:
        url = server.url.replace("http:", "https:")
        async with client(context=ours) as http:
            for _ in range(2):
                assert (await http.post(url.replace("127.0.0.1", "localhost"))).text == "ok"
            assert len(server.writers) == 1
            with pytest.raises(httpx2.ConnectError, match="certificate"):
                await http.post(url)  # another name than the certificate's
        async with client() as http:  # the system's certificates
            with pytest.raises(httpx2.ConnectError, match="certificate"):
                await http.post(url.replace("127.0.0.1", "localhost"))


async def test_a_client_is_used_by_one_event_loop_after_another() -> None:
    def asked(http: httpx2.AsyncClient) -> str:
        async def ask() -> str:
            async with serving() as server:
                return (await http.post(server.url)).text

        return asyncio.run(ask())

    http = client()
    for _ in range(2):
        assert await asyncio.to_thread(asked, http) == "ok"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_is_left_to_the_sdk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    boundary = Boundary(Failures({"name": "parrot"}))
    assert "transport" in boundary.client_options()
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert "transport" not in boundary.client_options()
