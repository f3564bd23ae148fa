"""Addresses as people write them, and proxies."""

from __future__ import annotations

import asyncio
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from hookline_hookspecs import BadRequest, Message, ModelRequest, NetworkError, ProviderSettings
from hookline_openai import OpenAIProvider
from support.serving import serving

ASK = ModelRequest("openai/m", "", (), (Message.user("hi"),))


async def ask(base_url: str, **options: float) -> str:
    settings = ProviderSettings("openai", base_url, "k", {}, {"max_retries": 0, **options})
    provider = OpenAIProvider(settings)
    try:
        return (await provider.send(provider.render(ASK), None)).text
    finally:
        await provider.aclose()


async def test_missing_v1_is_added(serve):
    server = serve(["yes", "again"])
    assert await ask(server.base_url.removesuffix("/v1")) == "yes"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost."])
async def test_server_on_this_machine_is_asked_without_a_proxy(serve, monkeypatch, host):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server = serve(["yes"])
    assert await ask(server.base_url.replace("127.0.0.1", host)) == "yes"


async def test_proxy_that_fails_is_named(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(NetworkError, match=r"through the proxy 127\.0\.0\.1:9.*/retry"):
        await ask("http://models.example/v1")


async def wait_for_a_line(reader, writer):
    """As many servers do, wait for a request line, which a client with TLS does not send."""
    if await reader.readline():
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    writer.close()


async def answer_at_once(reader, writer):
    """Answer what is no request, as Node.js and Go do."""
    line = await reader.read(100)
    status = b"405 No" if line.startswith(b"HEAD / HTTP/1.1\r\n") else b"400 Bad Request"
    writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
    writer.close()


@pytest.mark.parametrize("answer", [wait_for_a_line, answer_at_once])
async def test_server_without_tls_is_told_with_the_right_address(answer):
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        with pytest.raises(BadRequest, match=f"{host} speaks plain HTTP. Write http:// instead"):
            await ask(f"https://{host}/v1", timeout=0.5)


async def refuse_plain_requests(reader, writer):
    """A server with TLS that cannot agree on it; it answers plain requests with 400, as nginx."""
    if (await reader.read(100)).startswith(b"HEAD"):
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    writer.close()


@pytest.mark.parametrize("answer", [refuse_plain_requests, None])
async def test_server_that_may_have_tls_is_not_said_to_have_none(answer):
    server = await asyncio.start_server(answer or refuse_plain_requests, "127.0.0.1", 0)
    host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    if answer is None:
        server.close()
    async with server:
        with pytest.raises(NetworkError, match=r"The connection to openai .* failed"):
            await ask(f"https://{host}/v1")


PROXY_FAULTS = {
    "127.0.0.1:abc": "its host or port is not valid",
    "http://[bad": "its host or port is not valid",
    "http://": "its host or port is not valid",
    "foo bar": "its host or port is not valid",
    "http://a:99999": "its host or port is not valid",
    "https//proxy:80": "it has a path",
    "ftp://a:21": "the scheme ftp is not supported",
    "socks5://127.0.0.1:1080": "SOCKS is not supported",
}


@pytest.mark.parametrize("proxy", PROXY_FAULTS)
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
async def test_malformed_proxy_is_named_with_its_variable(monkeypatch, name, proxy):
    for one in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(one, raising=False)
    scheme, slashes, rest = proxy.rpartition("//")
    monkeypatch.setenv(name, f"{scheme}{slashes}me:secret@{rest}" if slashes else proxy)
    with pytest.raises(BadRequest, match=f"the environment variable {name} is not") as raised:
        await ask("https://models.example/v1")
    assert PROXY_FAULTS[proxy] in str(raised.value)
    assert "secret" not in str(raised.value)


async def test_malformed_proxy_does_not_matter_for_a_server_on_this_machine(serve, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "127.0.0.1:abc")
    server = serve(["yes"])
    assert await ask(server.base_url) == "yes"


class LoginProxy(BaseHTTPRequestHandler):
    """A proxy that requires a login."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_error(407)

    def log_message(self, *_):
        """Say nothing."""


async def test_proxy_that_requires_a_login_is_named(monkeypatch):
    proxy = HTTPServer(("127.0.0.1", 0), LoginProxy)
    host = f"127.0.0.1:{proxy.server_address[1]}"
    with serving(proxy):
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://{host}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(NetworkError, match=r"requires a login \(407") as raised:
            await ask("http://models.example/v1")
    assert f"(models.example through the proxy {host})" in str(raised.value)
