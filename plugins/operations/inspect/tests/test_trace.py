"""``hookline trace``: what happened in a turn, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    Ask,
    ContextBlock,
    Deny,
    Excerpt,
    Inbound,
    Overloaded,
    Plugin,
    ToolCall,
    ToolResult,
    Turn,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_inspect import Inspect

Make = Callable[..., Any]
Run = Callable[..., Any]
Tree = dict[str, Any]
TRACED = {"trace": True}
KEYS = {"type", "name", "plugin", "ms", "changed", "verdict", "reason", "children"}


class Hands(Plugin[NoConfig]):
    @tool(read_only=True)
    async def look(self, path: str = "") -> str:
        """Look."""
        await asyncio.sleep(0)
        return await self.host.read(f"saw {path}", path)

    @tool
    def write(self, path: str = "", api_key: str = "") -> str:
        """Write."""
        return "written"


def walk(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree["children"]:
        yield from walk(child)


def steps_named(tree: Tree, name: str, kind: str = "hook") -> list[Tree]:
    return [one for one in walk(tree) if (one["type"], one["name"]) == (kind, name)]


def test_trace_is_a_tree_of_steps(harness: Make, data: Run) -> None:
    class Looks(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> None:
            return None

        @hookimpl
        def around_model(self, ctx: Any, request: Any) -> Any:
            async def middleware(event: Any, call_next: Any) -> Any:
                return await call_next(event)

            return middleware

    h = harness(Inspect, Looks, Hands, model=[[calls("write", path="a")], "done"], core=TRACED)
    h.send("x")
    tree = data(h, "trace")
    assert all(set(one) - {"origins"} == KEYS for one in walk(tree))
    assert (tree["type"], tree["verdict"], tree["changed"]) == ("turn", "done", None)
    shown = [(one["type"], one["name"], one["plugin"]) for one in tree["children"]]
    assert [one for one in shown if one[0] != "hook" or one[1] == "around_model"] == [
        ("hook", "around_model", "looks"),
        ("tool_call", "write", "hands"),
        ("hook", "around_model", "looks"),
    ]
    first, second = steps_named(tree, "around_model")
    assert [one["type"] for one in first["children"]] == ["model"]
    assert [one["children"][0]["verdict"] for one in (first, second)] == ["tools", "end"]
    assert "10 in" in first["children"][0]["reason"]
    (call,) = steps_named(tree, "write", "tool_call")
    assert [(one["type"], one["plugin"]) for one in call["children"]] == [
        ("hook", "looks"),
        ("tool", "hands"),
    ]
    assert all(one["ms"] >= child["ms"] for one in walk(tree) for child in one["children"][:1])


def test_steps_before_the_turn_belong_to_its_trace(harness: Make, data: Run) -> None:
    class Gate(Plugin[NoConfig]):
        @hookimpl
        def on_message(self, ctx: Any, inbound: Inbound) -> Inbound:
            return replace(inbound, text=inbound.text.replace("bad", "good"))

    h = harness(Inspect, Gate, model=["a", "b"], core=TRACED)
    h.send("a bad word")
    h.send("bad")
    for number in (1, 2):
        steps = steps_named(data(h, "trace", turn=number), "on_message")
        (step,) = [one for one in steps if one["plugin"] == "gate"]
        assert step["changed"] == {"fields": ["text"], "removed": 2, "added": 3}


def test_trace_shows_what_each_step_changed(harness: Make, data: Run) -> None:
    class Changes(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Any, turn: Turn) -> ContextBlock:
            return ContextBlock("notices", "twelve chars")

        @hookimpl
        def around_tool(self, ctx: Any, call: ToolCall) -> Any:
            async def middleware(event: ToolCall, call_next: Any) -> ToolResult:
                return await call_next(replace(event, arguments={"path": "bcd"}))

            return middleware

        @hookimpl
        def post_tool(self, ctx: Any, result: ToolResult) -> ToolResult:
            return replace(result, text=result.text + "!")

    class Leaves(Plugin[NoConfig]):
        @hookimpl
        def post_tool(self, ctx: Any, result: ToolResult) -> ToolResult:
            return replace(result)

        @hookimpl
        def around_tool(self, ctx: Any, call: ToolCall) -> Any:
            async def middleware(event: ToolCall, call_next: Any) -> ToolResult:
                return await call_next(event)

            return middleware

    models = [[calls("write", path="a")], "done"]
    h = harness(Inspect, Changes, Leaves, Hands, model=models, core=TRACED)
    h.send("x")
    found = {
        (one["name"], one["plugin"]): one["changed"]
        for one in walk(data(h, "trace"))
        if one["type"] == "hook"
    }
    assert found["pre_prompt", "changes"] == {"fields": ["notices"], "removed": 0, "added": 12}
    assert found["around_tool", "changes"] == {"fields": ["arguments"], "removed": 1, "added": 3}
    assert found["post_tool", "changes"] == {"fields": ["text"], "removed": 0, "added": 1}
    assert found["post_tool", "leaves"] is None
    assert found["around_tool", "leaves"] is None


def test_trace_shows_verdicts_and_reasons(harness: Make, data: Run) -> None:
    class Judge(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            if call.arguments.get("path") == "no":
                return Deny("not that one")
            return Ask("is it wise?", "write ask") if call.arguments.get("path") == "ask" else None

    class Cache(Plugin[NoConfig]):
        @hookimpl
        def around_tool(self, ctx: Any, call: ToolCall) -> Any:
            async def middleware(event: ToolCall, call_next: Any) -> ToolResult:
                if event.arguments.get("path") == "known":
                    return ToolResult(event, "as before")
                return await call_next(event)

            return middleware

    asked = [calls("write", path=path) for path in ("no", "ask", "known")]
    models = [asked, "done"]
    h = harness(Inspect, Judge, Cache, Hands, model=models, core=TRACED, answers=["Allow once"])
    h.send("x")
    tree = data(h, "trace")
    no, ask, known = steps_named(tree, "write", "tool_call")
    assert (no["verdict"], no["reason"]) == ("deny", "not that one")
    assert steps_named(no, "write", "tool") == []
    assert (ask["verdict"], ask["reason"]) == ("ask", "is it wise?")
    (person,) = steps_named(ask, "on_question")
    assert (person["verdict"], person["reason"]) == ("answer", "Allow once")
    (cache,) = steps_named(known, "around_tool")
    assert cache["verdict"] == "answer"
    assert steps_named(known, "write", "tool") == []


def test_trace_names_plugin_of_a_failure(harness: Make, data: Run) -> None:
    class Breaks(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            raise ValueError("no such thing")

        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> None:
            raise KeyError("gone")

    models = [[calls("write")], "done"]
    h = harness(Inspect, Breaks, Hands, model=models, core=TRACED, strict=False)
    h.send("x")
    tree = data(h, "trace")
    (step,) = steps_named(tree, "start_of_turn")
    assert (step["plugin"], step["verdict"]) == ("breaks", "failed")
    assert step["reason"] == "ValueError: no such thing"
    (guard,) = steps_named(tree, "pre_tool")
    assert guard["verdict"] == "deny"
    assert "gone" in guard["reason"]


def test_parallel_calls_are_separate_in_trace(harness: Make, data: Run) -> None:
    class Reads(Plugin[NoConfig]):
        @hookimpl
        async def pre_read(self, ctx: Any, excerpt: Excerpt) -> Excerpt:
            await asyncio.sleep(0.001)
            return replace(excerpt, text=excerpt.text + excerpt.source)

        @hookimpl
        async def pre_tool(self, ctx: Any, call: ToolCall) -> None:
            await asyncio.sleep(0.001)

    paths = ["a", "bb", "ccc", "dddd"]
    models = [[calls("look", path=path) for path in paths], "done"]
    h = harness(Inspect, Reads, Hands, model=models, core=TRACED)
    h.send("x")
    found = steps_named(data(h, "trace"), "look", "tool_call")
    assert len(found) == len(paths)
    for call, path in zip(found, paths, strict=True):
        (ran,) = steps_named(call, "look", "tool")
        assert path in ran["reason"]
        assert len(steps_named(call, "pre_tool")) == 1
        (read,) = steps_named(ran, "pre_read")
        assert read["changed"]["added"] == len(path)


def test_failed_turn_is_traced(harness: Make, data: Run, run: Run) -> None:
    h = harness(Inspect, model=[Overloaded("the model is busy")], core=TRACED)
    assert h.send("x").stop == "error"
    tree = data(h, "trace")
    assert (tree["verdict"], tree["reason"]) == ("error", "the model is busy")
    (model,) = [one for one in walk(tree) if one["type"] == "model"]
    assert (model["verdict"], model["reason"]) == ("failed", "Overloaded: the model is busy")
    assert "the model is busy" in run(h, "trace")


def test_stopped_turn_is_traced(harness: Make, data: Run) -> None:
    class Slow(Plugin[NoConfig]):
        @tool
        async def wait(self) -> str:
            """Wait."""
            await h.asend("/stop")
            await asyncio.sleep(60)
            return "never"

    h = harness(Inspect, Slow, model=[[calls("wait")], "a"], core=TRACED)
    assert h.send("x").stop == "stopped"
    assert data(h, "trace")["verdict"] == "stopped"


def test_trace_is_chosen_by_session_and_turn_number(harness: Make, data: Run, refused: Run) -> None:
    h = harness(Inspect, model=["a"] * 4, core=TRACED)
    turns = [h.send("x", session=name).turn.id for name in ("one", "one", "two")]
    assert data(h, "trace")["name"] == turns[2]
    assert data(h, "trace", session="one")["name"] == turns[1]
    assert data(h, "trace", session="one", turn=1)["name"] == turns[0]
    code, sentence = refused(h, "trace", session="one", turn=3)
    assert code == 2
    assert "1, 2" in sentence
    code, sentence = refused(h, "trace", session="three")
    assert code == 2
    assert "unknown session three" in sentence


def test_turn_numbers_include_untraced_turns(
    harness: Make, data: Run, refused: Run, tmp_path: Path
) -> None:
    before = harness(Inspect, model=["a"], home=tmp_path / "one")
    before.send("x")
    before.close()
    h = harness(Inspect, model=["a"], home=tmp_path / "one", core=TRACED)
    turn = h.send("y").turn.id
    assert data(h, "trace", turn=2)["name"] == turn
    assert refused(h, "trace", turn=1)[0] == 2


def test_latest_trace_is_not_a_sub_agent(harness: Make, data: Run) -> None:
    class Delegates(Plugin[NoConfig]):
        @hookimpl
        async def end_of_turn(self, ctx: Any, turn: Turn) -> None:
            if ctx.session.kind == "chat":
                inner.append((await self.host.run_turn("do it", parent=ctx)).session.id)

    inner: list[str] = []
    h = harness(Inspect, Delegates, model=["a", "b"], core=TRACED)
    outer = h.send("x").turn.id
    assert data(h, "trace")["name"] == outer
    assert data(h, "trace", session=inner[0])["verdict"] == "done"


def test_nothing_is_recorded_without_tracing(harness: Make, data: Run, refused: Run) -> None:
    h = harness(Inspect, model=["a"])
    h.send("x")
    for session in (None, "test"):
        code, sentence = refused(h, "trace", session=session)
        assert code == 1
        assert "`trace: true`" in sentence
        assert "--trace" in sentence
    assert data(h, "info", name="inspect")["storage"] == {"tables": {}, "values": 0, "bytes": 0}


def test_oldest_traces_are_deleted(harness: Make, data: Run, refused: Run) -> None:
    h = harness(Inspect, model=["a"] * 5, core=TRACED, config={"trace_turns": 2})
    for _ in range(4):
        h.send("x")
    assert data(h, "info", name="inspect")["storage"]["tables"]["inspect_traces"] == 2
    assert "3, 4" in refused(h, "trace", turn=1)[1]


def test_trace_storage_is_bounded_in_bytes(harness: Make, data: Run) -> None:
    models = [[[calls("write", path="p" * 250) for _ in range(12)], "a"] for _ in range(3)]
    h = harness(
        Inspect,
        Hands,
        model=[step for steps in models for step in steps],
        core=TRACED,
        config={"inspect": {"trace_bytes": 12_000}},
    )
    for _ in range(3):
        h.send("x")
    assert data(h, "info", name="inspect")["storage"]["tables"]["inspect_traces"] == 1


def test_too_large_trace_says_so(harness: Make, data: Run) -> None:
    models = [[calls("write", path="p" * 2000) for _ in range(12)], "a"]
    limits = {"inspect": {"trace_bytes": 10_000, "trace_chars": 2000}}
    h = harness(Inspect, Hands, model=models, core=TRACED, config=limits)
    h.send("x")
    tree = data(h, "trace")
    assert (tree["children"], tree["reason"]) == ([], "the trace was too large to store")


def test_trace_steps_and_strings_are_bounded(harness: Make, data: Run) -> None:
    models = [[calls("write", path="p" * 5000)], *([[calls("write")]] * 20), "a"]
    limits = {"inspect": {"trace_steps": 10, "trace_chars": 40}}
    h = harness(Inspect, Hands, model=models, core=TRACED, config=limits)
    h.send("x")
    tree = data(h, "trace")
    assert sum(one["type"] in ("hook", "model", "tool") for one in walk(tree)) == 10
    assert "more steps left out" in tree["reason"]
    assert all(len(one["reason"] or "") <= 40 for one in walk(tree) if one["type"] == "tool")


def test_trace_stores_no_secret(harness: Make, run: Run) -> None:
    class Judge(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Deny:
            return Deny("curl -H 'Authorization: Bearer zxcvbnm12345' is not allowed")

    secrets = ("hunter2hunter2", "sk-proj-abcdefghijkl", "zxcvbnm12345")
    call = calls("write", api_key=secrets[0], path=secrets[1])
    loose = harness(Inspect, Hands, model=[[call], "a"], core=TRACED)
    strict = harness(Inspect, Judge, Hands, model=[[call], "a"], core=TRACED)
    for h in (loose, strict):
        h.send("x")
        shown = run(h, "trace") + run(h, "trace", json=True)
        assert "write" in shown
        assert not [secret for secret in secrets if secret in shown]


def test_deleted_session_leaves_no_trace(harness: Make, data: Run, run: Run) -> None:
    h = harness(Inspect, model=["a", "b"], core=TRACED)
    h.send("x", session="one")
    h.send("y", session="two")
    run(h, "sessions", action="delete", words=["one"], yes=True)
    assert data(h, "info", name="inspect")["storage"]["tables"]["inspect_traces"] == 1
    assert data(h, "trace", session="two")["verdict"] == "done"


def test_background_work_at_process_end_is_traced(harness: Make, data: Run, tmp_path: Path) -> None:
    class Reviews(Plugin[NoConfig]):
        @hookimpl
        async def end_of_turn(self, ctx: Any, turn: Turn) -> None:
            return None

    first = harness(Inspect, Reviews, model=["a"], home=tmp_path / "one", core=TRACED)
    first.send("x")
    first.close()
    h = harness(Inspect, home=tmp_path / "one")
    ends = steps_named(data(h, "trace"), "end_of_turn")
    assert "reviews" in [one["plugin"] for one in ends]


def test_trace_text_shows_the_tree(harness: Make, run: Run) -> None:
    h = harness(Inspect, Hands, model=[[calls("write", path="\x1b[31mred")], "done"], core=TRACED)
    h.send("x")
    text = run(h, "trace")
    assert text.startswith("Session test, turn 1, ")
    assert "├─ model test/model: " in text
    assert "tool_call write (hands): " in text
    assert "\x1b" not in text


@pytest.mark.parametrize("text", ["/undo", "/retry"])
def test_undone_turn_can_still_be_traced(harness: Make, run: Run, text: str) -> None:
    h = harness(Inspect, model=["a", "b"], core=TRACED)
    h.send("x")
    h.send(text)
    assert run(h, "trace").startswith("Session test, ")
