"""Addresses as people write them, and proxies."""

from __future__ import annotations

import pytest
from hookline_hookspecs import Message, ModelRequest, NetworkError, ProviderSettings
from hookline_openai import OpenAIProvider

ASK = ModelRequest("openai/m", "", (), (Message.user("hi"),))


async def ask(base_url: str) -> str:
    settings = ProviderSettings("openai", base_url, "k", {}, {"max_retries": 0})
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
