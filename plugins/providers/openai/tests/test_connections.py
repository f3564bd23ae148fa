"""Connections to a server: reuse, cancellation, failures, proxies and TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hookline_hookspecs import Message, ModelRequest, NetworkError, ProviderError, ProviderSettings
from hookline_openai import OpenAIProvider

BODY = b'{"id": "c", "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}'
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)
) + BODY


class Server:
    """Answers each request; counts connections, and notices when the client closes one."""

    def __init__(self, answer: Callable[[asyncio.StreamWriter], Awaitable[object]]) -> None:
        self.answer = answer
        self.port = 0
        self.heads: list[bytes] = []
        self.connections = 0
        self.closed = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                self.heads.append(head)
                await self.answer(writer)
        self.closed.set()
        writer.close()


async def hello(writer: asyncio.StreamWriter) -> None:
    writer.write(ANSWER)


@asynccontextmanager
async def serving(
    answer: Callable[[asyncio.StreamWriter], Awaitable[object]] = hello,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Server]:
    server = Server(answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    async with asyncio.timeout(60):
        try:
            yield server
        finally:
            listening.close()


@asynccontextmanager
async def connected(base_url: str, **options: object) -> AsyncIterator[OpenAIProvider]:
    given = {"max_retries": 0, "stream": False} | options
    provider = OpenAIProvider(ProviderSettings("openai", base_url, "sk-test", {}, given))
    try:
        yield provider
    finally:
        await provider.aclose()


async def ask(provider: OpenAIProvider) -> str:
    request = ModelRequest("openai/gpt-5", "", (), (Message.user("hi"),))
    return (await provider.send(provider.render(request), None)).text


async def test_connections_are_reused() -> None:
    async with serving() as server, connected(f"http://127.0.0.1:{server.port}/v1") as provider:
        for _ in range(3):
            assert await ask(provider) == "hello"
        assert server.connections == 1
        assert await asyncio.gather(*(ask(provider) for _ in range(5))) == ["hello"] * 5
        assert server.connections <= 5


async def test_cancelled_request_closes_its_connection() -> None:
    asked = asyncio.Event()

    async def silent(_writer: asyncio.StreamWriter) -> None:
        asked.set()

    async with serving(silent) as server, connected(f"http://127.0.0.1:{server.port}/v1") as it:
        task = asyncio.ensure_future(ask(it))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.closed.wait()


async def test_lost_connection_is_not_reported_as_a_timeout() -> None:
    async def hang_up(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with serving(hang_up) as server:
        shown = []
        request = ModelRequest("openai/gpt-5", "", (), (Message.user("hi"),))
        async with connected(f"http://127.0.0.1:{server.port}/v1", max_retries=1) as provider:
            with pytest.raises(NetworkError, match="The connection to openai"):
                await provider.send(provider.render(request), shown.append)
        assert [delta.kind for delta in shown] == ["waiting"]
        assert "the connection to openai failed" in shown[0].text


async def test_refused_connection_is_not_reported_as_a_timeout() -> None:
    async with connected("http://127.0.0.1:1/v1") as provider:
        with pytest.raises(NetworkError, match="The connection to openai"):
            await ask(provider)


def test_provider_works_in_consecutive_event_loops() -> None:
    async def run(provider: OpenAIProvider, port: int) -> str:
        server = Server(hello)
        listening = await asyncio.start_server(server.serve, "127.0.0.1", port)
        try:
            return await ask(provider)
        finally:
            await provider.aclose()
            listening.close()

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = {"max_retries": 0, "stream": False}
    url = f"http://127.0.0.1:{port}/v1"
    provider = OpenAIProvider(ProviderSettings("openai", url, "sk-test", {}, options))
    for _ in range(2):
        assert asyncio.run(run(provider, port)) == "hello"


async def test_requests_go_through_the_configured_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with connected("http://model.invalid/v1") as provider:
            assert await ask(provider) == "hello"
        assert proxy.heads[0].startswith(b"POST http://model.invalid/v1/chat/completions ")


async def test_certificate_is_refused_unless_the_environment_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=localhost"]
    subprocess.run(
        [*command, "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    async with serving(tls=tls) as server:
        async with connected(f"https://localhost:{server.port}/v1") as provider:
            with pytest.raises(NetworkError, match="certificate"):
                await ask(provider)
        assert not server.heads
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        async with connected(f"https://localhost:{server.port}/v1") as provider:
            assert await ask(provider) == "hello"
        monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.old")
        with pytest.raises(ProviderError, match=r"SSL_CERT_FILE names .*cert\.pem\.old"):
            async with connected(f"https://localhost:{server.port}/v1") as provider:
                await ask(provider)
