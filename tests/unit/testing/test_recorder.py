"""``HookRecorder`` records hook, plugin, order, event, result, error and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Context, Deny, NoConfig, Plugin, ToolCall, Turn, hookimpl, tool

Make = Callable[..., Any]


class Outer(Plugin[NoConfig]):
    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        pass

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        return Deny("not Voldemort") if call.arguments["name"] == "Voldemort" else None


class Inner(Plugin[NoConfig]):
    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        if call.arguments["name"] == "Bad":
            raise ValueError("no such person")

    @tool
    def greet(self, name: str) -> str:
        """Greet a person."""
        return f"Hello, {name}!"


def test_recorded_calls_have_plugin_event_and_result_in_order(harness: Make) -> None:
    h = harness(Outer, Inner, model=[[calls("greet", name="Voldemort")], "sorry"])
    h.send("go")
    found = h.hooks["pre_tool"]
    assert [(call.plugin, call.kind) for call in found] == [("outer", "guard"), ("inner", "guard")]
    assert found[0].event.arguments == {"name": "Voldemort"}
    assert [call.result for call in found] == [Deny("not Voldemort"), None]
    assert found[0].error is None
    assert [call.hook for call in h.hooks.calls if call.plugin == "outer"] == [
        "start_of_turn",
        "pre_tool",
    ]


def test_recorded_calls_have_start_and_duration(harness: Make) -> None:
    h = harness(Outer, Inner, model=[[calls("greet", name="Bo")], "done"])
    h.send("go")
    first, second = h.hooks["pre_tool"]
    assert 0 < first.started <= first.started + first.seconds <= second.started


def test_recorded_calls_have_the_error(harness: Make) -> None:
    h = harness(Inner, model=[[calls("greet", name="Bad")], "done"], strict=False)
    h.send("go")
    (call,) = h.hooks["pre_tool"]
    assert str(call.error) == "no such person"
    assert isinstance(call.result, Deny)


def test_recorder_order_includes_unimplemented_hooks(harness: Make) -> None:
    h = harness(Inner, model=["done"])
    h.send("go")
    order = h.hooks.order()
    assert order.index("start_of_turn") < order.index("pre_send") < order.index("pre_reply")


def test_recorder_table_has_a_line_for_each_call(harness: Make) -> None:
    h = harness(Outer, Inner, model=[[calls("greet", name="Voldemort")], "sorry"])
    h.send("go " + "x" * 1000)
    lines = h.hooks.table().splitlines()
    assert len(lines) == len(h.hooks.calls)
    assert "pre_tool of outer" in h.hooks.table()
    assert "Deny(reason='not Voldemort'" in h.hooks.table()
    assert max(map(len, lines)) < 250


def test_recorder_records_nothing_after_close(harness: Make) -> None:
    h = harness(Outer, model=["a", "b"])
    h.send("one")
    before = (len(h.hooks.calls), len(h.hooks.fired))
    h.hooks.close()
    h.send("two")
    assert (len(h.hooks.calls), len(h.hooks.fired)) == before


def test_recorder_raises_for_a_misspelt_hook(harness: Make) -> None:
    with pytest.raises(KeyError, match="unknown hook"):
        harness(Outer).hooks["pre_tools"]


def test_recorder_records_core_model_calls_and_tool_runs(harness: Make) -> None:
    h = harness(Inner, model=[[calls("greet", name="Bo")], "done"])
    h.send("go")
    assert [call.result.text for call in h.hooks["model"]] == ["", "done"]
    assert [call.result.text for call in h.hooks["tool"]] == ["Hello, Bo!"]
