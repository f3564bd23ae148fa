"""Fixtures: the strict fake server, and providers that talk to it through the real SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hookline_hookspecs import ProviderSettings
from hookline_openai import OpenAIProvider
from support.openai_server import OpenAIServer


@pytest.fixture
def serve() -> Iterator[Callable[..., OpenAIServer]]:
    """Start servers: ``serve(["hello"])``."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(OpenAIServer(*args, **options))


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., OpenAIProvider]]:
    """Make providers: ``connect(server, stream=False)``; without retries by default."""
    made = []

    def make(server: OpenAIServer, *, headers: Any = (), **options: Any) -> OpenAIProvider:
        options = {"max_retries": 0} | options
        settings = ProviderSettings(
            "openai", server.base_url, "sk-test", dict(headers), options, "OPENAI_API_KEY"
        )
        made.append(OpenAIProvider(settings))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()
