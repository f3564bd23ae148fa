"""Origins are shown with each text and with each step that read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Context,
    ContextBlock,
    Origin,
    Plugin,
    ToolOutput,
    Turn,
    hookimpl,
    tool,
)
from hookline_inspect import Inspect

PAGE = ["outside", "https://page.example/"]
OLD = ["outside", "an old page"]


class Web(Plugin):
    """A page, another tool, and a recollection."""

    @tool(read_only=True, origin="outside")
    def fetch(self) -> ToolOutput:
        """Fetch the page."""
        return ToolOutput("words", origins=(Origin("outside", PAGE[1]),))

    @tool(origin="workspace")
    def write(self) -> str:
        """Write."""
        return "written"

    @hookimpl
    def pre_prompt(self, ctx: Context, turn: Turn) -> ContextBlock:
        return ContextBlock("recalled-context", "words", origins=(Origin("outside", OLD[1]),))


@pytest.fixture
def h(harness: Callable[..., Harness]) -> Harness:
    """A traced turn in which the page was read."""
    script = [[calls("fetch")], [calls("write")], "done"]
    made = harness(Inspect, Web, model=script, core={"trace": True})
    made.send("read it")
    return made


def walk(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield tree
    for child in tree["children"]:
        yield from walk(child)


def test_trace_shows_origins_of_each_step(h: Harness, data: Any, run: Any) -> None:
    found = {(one["type"], one["name"]): one.get("origins") for one in walk(data(h, "trace"))}
    assert found["tool_call", "fetch"] == found["tool", "fetch"] == [PAGE]
    assert found["tool", "write"] == [["workspace", "tool write"]]
    assert found["hook", "pre_prompt"] == [OLD]
    assert [kind for kind, origins in found.items() if kind[0] == "model" and origins] == []
    shown = [line for line in run(h, "trace").splitlines() if f"from {PAGE[1]}" in line]
    assert len(shown) == 2


def test_stored_session_shows_origin_of_each_text(h: Harness) -> None:
    lines = h.cli("sessions show test").stdout.splitlines()
    assert "[user] read it" in lines
    assert f"[user, from {PAGE[1]}] ← words" in lines
    assert "[user] ← written" in lines
