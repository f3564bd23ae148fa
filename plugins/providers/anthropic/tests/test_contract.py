"""The contract of providers, on the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookline.testing import ProviderContract
from hookline_anthropic import AnthropicProvider
from support.anthropic_server import AnthropicServer, Reply, Use


class FakeAnthropic:
    """The strict fake server, told what to answer next."""

    def __init__(self) -> None:
        self._replies: list[Reply] = []
        self._server = AnthropicServer(lambda _: self._replies.pop(0)).__enter__()
        self.base_url = self._server.base_url

    def answer(self, text: str) -> None:
        self._replies.append(Reply(text))

    def call(self, name: str, arguments: Mapping[str, Any]) -> None:
        self._replies.append(Reply(tools=(Use(name, dict(arguments)),)))

    def fail(self, status: int) -> None:
        self._replies.append(Reply(status=status, error=("an_error", "not now")))

    def close(self) -> None:
        self._server.__exit__(None, None, None)


class TestMessages(ProviderContract):
    provider = AnthropicProvider
    server = FakeAnthropic
    unsupported = frozenset({"temperature"})  # the newest models refuse it
