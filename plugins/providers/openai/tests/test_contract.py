"""The contract of providers, on both of OpenAI's endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hookline.testing import ProviderContract
from hookline_openai import OpenAIProvider
from support.openai_server import OpenAIServer, Reply, Use


class FakeOpenAI:
    """The strict fake server, told what to answer next."""

    def __init__(self) -> None:
        self._replies: list[Reply] = []
        self._server = OpenAIServer(lambda _: self._replies.pop(0)).__enter__()
        self.base_url = self._server.base_url

    def answer(self, text: str) -> None:
        self._replies.append(Reply(text))

    def call(self, name: str, arguments: Mapping[str, Any]) -> None:
        self._replies.append(Reply(tools=[Use(name, dict(arguments))]))

    def fail(self, status: int) -> None:
        body = {"error": {"message": "not now", "type": "an_error", "code": None}}
        self._replies.append(Reply(status=status, body=body))

    def close(self) -> None:
        self._server.__exit__(None, None, None)


class TestChat(ProviderContract):
    provider = OpenAIProvider
    server = FakeOpenAI


class TestResponses(ProviderContract):
    provider = OpenAIProvider
    server = FakeOpenAI
    options: ClassVar = {"api": "responses"}
