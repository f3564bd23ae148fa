"""The contract of every plugin, and the cost of this one's tools."""

from __future__ import annotations

import json
from collections.abc import Callable

from hookline.testing import Harness, PluginContract
from hookline_browser import Browser

MOST_TOKENS = 350
"""Of both schemas, counted as characters / 4."""


class TestBrowserContract(PluginContract):
    plugin = Browser


def test_tool_schemas_are_short(harness: Callable[..., Harness]) -> None:
    h = harness(Browser, model=["hi"])
    h.send("hello")
    tools = [one for one in h.model.requests[0].tools if one.name.startswith("browser")]
    assert [one.name for one in tools] == ["browser", "browser_read"]
    sent = [
        {"name": one.name, "description": one.description, "input_schema": dict(one.parameters)}
        for one in tools
    ]
    characters = sum(len(json.dumps(one, separators=(",", ":"))) for one in sent)
    assert characters / 4 <= MOST_TOKENS, characters / 4
