"""A client of the fake server, and short ways to say what a request holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline_anthropic import AnthropicProvider
from hookline_hookspecs import (
    Delta,
    Marker,
    Message,
    ModelRequest,
    ModelResponse,
    ProviderSettings,
    ToolSchema,
)
from support.anthropic_server import AnthropicServer, Reply

LOOK = ToolSchema("look", "Look around.", {"type": "object", "properties": {}})
WAIT = ToolSchema("wait", "Wait.", {"type": "object", "properties": {}})


class Talk:
    """A provider in front of a server with a script."""

    def __init__(self, server: AnthropicServer, provider: AnthropicProvider) -> None:
        self.server = server
        self.provider = provider
        self.shown: list[Delta] = []

    async def ask(
        self, *messages: Message, markers: tuple[Marker, ...] = (), **changes: Any
    ) -> ModelResponse:
        """Send messages; ``changes`` are fields of the request."""
        wire = self.provider.render(request(*messages, **changes))
        return await self.provider.send(replace(wire, markers=markers), self.shown.append)

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of the last request."""
        return self.server.bodies[-1]


def request(*messages: Message, **changes: Any) -> ModelRequest:
    """A request of these messages, or of one that says hello."""
    given: dict[str, Any] = {
        "model": "anthropic/claude-sonnet-4-5",
        "system": "Be brief.",
        "tools": (LOOK, WAIT),
        "session_id": "s1",
    }
    return ModelRequest(messages=messages or (Message.user("hello"),), **given | changes)


MakeTalk = Callable[..., Talk]


@pytest.fixture
async def talk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MakeTalk]:
    """Makes a :class:`Talk`: ``talk(*replies, key=…, headers=…, **options)``."""
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    made: list[Talk] = []

    def make(*replies: Reply | str, key: str = "k", **options: Any) -> Talk:
        server = AnthropicServer(replies).__enter__()
        headers = options.pop("headers", {})
        options = {"max_retries": 0} | options
        settings = ProviderSettings("anthropic", server.base_url, key, headers, options)
        made.append(Talk(server, AnthropicProvider(settings)))
        return made[-1]

    yield make
    for each in made:
        await each.provider.aclose()
        each.server.__exit__()
