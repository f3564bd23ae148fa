"""Where the context window of a model comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline_hookspecs import ContextTooLong, Message, ModelRequest
from support.openai_server import OpenAIServer, Reply

Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("window", "expected"), [(8192, 8192), ({"m": 4096}, 4096), ({"other": 4096}, 128_000)]
)
def test_configured_window_is_used(harness: Make, window: Any, expected: int) -> None:
    section = {"base_url": "http://127.0.0.1:9/v1", "window": window}
    h = harness(core={"providers": {"mine": section}})
    assert h.runtime.engine.providers.window("mine/m") == expected


def test_window_in_an_error_is_used_from_then_on(harness: Make) -> None:
    error = {"error": {"message": "This model's maximum context length is 8192 tokens."}}
    with OpenAIServer([Reply(status=400, body=error), "fine"]) as server:
        section = {"base_url": server.base_url, "max_retries": 0}
        h = harness(core={"providers": {"mine": section}})
        providers = h.runtime.engine.providers
        assert providers.window("mine/m") == 128_000
        provider = providers.get("mine/m")
        wire = provider.render(ModelRequest("mine/m", "", (), (Message.user("hello"),)))
        with pytest.raises(ContextTooLong):
            h.run(provider.send(wire, None))
        assert providers.window("mine/m") == 8192
