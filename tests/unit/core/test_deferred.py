"""Deferred tools: not in the prompt, called through a bridge, guarded as themselves."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    Ask,
    Context,
    Deny,
    ModelResponse,
    Plugin,
    Tool,
    ToolCall,
    ToolResult,
    ToolResultBlock,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]
RAN: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


class Library(Plugin[NoConfig]):
    """A bridge, and tools behind it that are known only at run time."""

    @tool(read_only=True)
    def book_find(self, query: str) -> str:
        """Find a tool."""
        return "shelf__lend(title)"

    @tool(bridge=True)
    def book_call(self, tool: str, arguments: dict[str, Any] | None = None) -> str:
        """Call a tool that book_find has found."""
        raise SystemError("a bridge is never run")

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        self.register = register
        schema = {"type": "object", "properties": {"title": {}}, "required": ["title"]}
        register(Tool("shelf__lend", "Lend.", self.lend, parameters=schema, deferred=True))
        register(Tool("shelf__look", "Look.", self.look, deferred=True, read_only=True))
        register(Tool("shelf__burn", "Burn.", self.lend, deferred=True, approval="it burns"))
        register(Tool("shelf__mine", "Mine.", self.look, deferred=True, main_only=True))

    def lend(self, title: str) -> str:
        RAN.append(f"lend {title}")
        return f"lent {title}"

    def look(self, where: str = "here", ctx: Context | None = None) -> str:
        RAN.append(f"look {where}")
        return f"seen {where}"


class Observer(Plugin[NoConfig]):
    """Another plugin: a guard, a follower of every call, and tools of its own."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.checked: list[tuple[str, dict[str, Any]]] = []
        self.told: list[str] = []

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        register(Tool("observer__hidden", "Hidden.", lambda: "hidden", deferred=True))

    @tool
    def ring(self) -> str:
        """Ring."""
        return "rung"

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | Ask | None:
        self.checked.append((call.name, dict(call.arguments)))
        assert ctx.tool is not None
        assert ctx.tool.name == call.name
        return Deny("that one stays") if call.arguments.get("title") == "Faust" else None

    @hookimpl
    def post_tool(self, ctx: Context, result: ToolResult) -> None:
        self.told.append(f"result {result.call.name}")

    @hookimpl
    def post_model(self, ctx: Context, response: ModelResponse) -> None:
        self.told += [f"asked {call.name}" for call in response.message.tool_calls]


def bridge_call(name: Any, arguments: Any = None, **kept: Any) -> ToolCall:
    asked = {"tool": name} if arguments is None else {"tool": name, "arguments": arguments}
    return calls("book_call", **asked, **kept)


def make_library(harness: Make, *said: Any, **options: Any) -> Any:
    return harness(Library, Observer, model=[*said, "done"], **options)


def test_model_sees_the_bridge_but_no_deferred_tools(harness: Make) -> None:
    h = make_library(harness)
    h.send("go")
    offered = {schema.name for schema in h.model.requests[0].tools}
    assert {"book_find", "book_call", "ring"} <= offered
    assert not {name for name in offered if "__" in name}


def test_hooks_see_the_inner_call_and_the_model_its_bridge_call(harness: Make) -> None:
    h = make_library(harness, [bridge_call("shelf__lend", {"title": "Emma"})])

    outcome = h.send("go")

    (result,) = outcome.tool_calls
    assert (result.call.name, result.call.arguments) == ("shelf__lend", {"title": "Emma"})
    assert (result.ok, result.text, RAN) == (True, "lent Emma", ["lend Emma"])
    observer = h.plugin(Observer)
    assert observer.checked == [("shelf__lend", {"title": "Emma"})]
    assert observer.told == ["asked shelf__lend", "result shelf__lend"]
    # What the model said is sent back as it was, with the result under its id.
    asked, answered = h.model.requests[1].messages[-2:]
    assert [(call.name, call.id) for call in asked.tool_calls] == [("book_call", result.call.id)]
    (block,) = answered.blocks
    assert isinstance(block, ToolResultBlock)
    assert (block.call_id, block.text) == (result.call.id, "lent Emma")


def test_guard_denies_the_inner_call(harness: Make) -> None:
    h = make_library(harness, [bridge_call("shelf__lend", {"title": "Faust"})])
    (result,) = h.send("go", approve="yes").tool_calls
    assert (result.text, RAN) == ("Denied: that one stays", [])


@pytest.mark.parametrize(("answer", "ran"), [("Allow once", ["lend Emma"]), ("Deny", [])])
def test_approval_shows_the_literal_inner_arguments(
    harness: Make, answer: str, ran: list[str]
) -> None:
    h = make_library(harness, [bridge_call("shelf__burn", {"title": "Emma"})], answers=[answer])
    h.send("go")
    (question,) = h.questions
    assert question.text == "Allow shelf__burn? It burns"
    assert question.preview == '{\n "title": "Emma"\n}'
    assert question.call is not None
    assert (question.call.name, question.call.arguments) == ("shelf__burn", {"title": "Emma"})
    assert ran == RAN


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            bridge_call("shelf__lent", {}),
            "no tool 'shelf__lent' is called through book_call; did you",
        ),
        (bridge_call("nonsense", {}), "no tool 'nonsense' is called through book_call"),
        (bridge_call("book_call", {"tool": "shelf__lend"}), "book_call itself is offered"),
        (bridge_call("ring"), "ring itself is offered, so call that"),
        (bridge_call("observer__hidden"), "no tool 'observer__hidden' is called through book_call"),
        (bridge_call(7), "argument 'tool' of book_call"),
        (bridge_call("shelf__lend", "title"), "argument 'arguments' of book_call"),
        (calls("book_call"), "book_call needs the argument 'tool'"),
        (bridge_call("shelf__lend", {}), "shelf__lend needs the argument 'title'"),
        (calls("observer__hidden"), "unknown tool 'observer__hidden'"),
    ],
)
def test_deferred_call_errors_are_sentences_to_the_model(
    harness: Make, asked: ToolCall, said: str
) -> None:
    h = make_library(harness, [asked])
    (result,) = h.send("go").tool_calls
    assert not result.ok
    assert result.text.startswith("Error: ")
    assert said in result.text
    assert RAN == []


def test_deferred_tool_may_be_called_by_its_name(harness: Make) -> None:
    h = make_library(harness, [calls("shelf__lend", title="Emma"), bridge_call("shelf__look")])
    assert [result.text for result in h.send("go").tool_calls] == ["lent Emma", "seen here"]


def test_read_only_deferred_tools_run_in_parallel(harness: Make) -> None:
    h = make_library(
        harness, [bridge_call("shelf__look", {"where": "a"}), calls("shelf__look", where="b")]
    )
    assert [result.text for result in h.send("go").tool_calls] == ["seen a", "seen b"]


def test_sub_agent_cannot_call_main_turn_deferred_tools(harness: Make) -> None:
    h = make_library(harness, [bridge_call("shelf__mine"), bridge_call("shelf__look")])
    h.send("hello")

    async def nested() -> Any:
        h.model.steps[:] = [[bridge_call("shelf__mine"), bridge_call("shelf__look")], "ok"]
        return await h.plugin(Observer).host.run_turn("go")

    turn = h.run(nested())
    assert [result.ok for result in turn.tool_calls] == [False, True]


def test_session_without_the_bridge_cannot_call_deferred_tools(harness: Make) -> None:
    h = make_library(harness)

    async def nested() -> Any:
        await h.aopen()
        h.model.steps[:] = [[bridge_call("shelf__look"), calls("shelf__look")], "ok"]
        return await h.plugin(Observer).host.run_turn("go", tools=["ring"])

    turn = h.run(nested())
    assert [result.ok for result in turn.tool_calls] == [False, False]
    assert RAN == []


def test_tool_registered_later_works_in_a_running_session(harness: Make) -> None:
    h = make_library(harness, "first", [bridge_call("shelf__new"), bridge_call("shelf__look")])
    h.send("hello")
    kept = h.plugin(Library).register

    kept(Tool("shelf__new", "New.", lambda: "new", deferred=True))
    kept(Tool("shelf__look", "Look.", lambda: "seen anew", deferred=True))
    outcome = h.send("go")

    assert [result.text for result in outcome.tool_calls] == ["new", "seen anew"]
    first, *later = [request.tools for request in h.model.requests]
    assert all(tools == first for tools in later)


def test_deferred_tool_of_another_plugin_is_not_replaced(harness: Make) -> None:
    h = make_library(harness)
    h.send("hello")
    with pytest.raises(Exception, match="is already provided by plugin"):
        h.plugin(Library).register(Tool("observer__hidden", "Mine.", lambda: "", deferred=True))


def test_invalid_bridge_tool_is_refused() -> None:
    with pytest.raises(ValueError, match="it takes `tool` and `arguments`"):
        Tool("odd", "Odd.", lambda tool: tool, bridge=True)
    with pytest.raises(ValueError, match="not deferred itself"):
        Tool("odd", "Odd.", lambda tool, arguments: tool, bridge=True, deferred=True)


CRASHING = """
import sys
from pathlib import Path
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, Tool, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig

class Observer(Plugin[NoConfig]):
    pass

class Library(Plugin[NoConfig]):
    @tool(bridge=True)
    def book_call(self, tool: str, arguments: dict) -> str:
        "Call."
    @hookimpl
    def register_tools(self, register):
        register(Tool("shelf__lend", "Lend.", lambda title: "lent", deferred=True))

said = [calls("book_call", tool="shelf__lend", arguments={"title": "Emma"})]
Harness(Library, Observer, home=Path(sys.argv[1]), model=[said, "never"]).send("go")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "text", "ran"),
    [("after-model", "lent Emma", ["lend Emma"]), ("mid-tool", "Interrupted: ", [])],
)
def test_resumed_turn_continues_with_the_inner_call(
    harness: Make, python: Any, tmp_path: Path, point: str, text: str, ran: list[str]
) -> None:
    home = tmp_path / "one"
    died = python(CRASHING, str(home), HOOKLINE_CRASH_AT=point)
    assert died.returncode == -signal.SIGKILL, died.stderr

    h = harness(Library, Observer, home=home, model=["taken up", "next"])
    assert h.send("and now?").text == "next"

    asked, answered = h.model.requests[0].messages[-2:]
    assert [call.name for call in asked.tool_calls] == ["book_call"]
    assert answered.blocks[0].text.startswith(text)
    assert ran == RAN
    assert [name for name, _ in h.plugin(Observer).checked] == ["shelf__lend"] * len(ran)
    steps = h.run(h.runtime.engine.store.read(lambda db: db.fetch("SELECT * FROM steps")))
    assert [(s["name"], s["arguments"]) for s in steps] == [("shelf__lend", '{"title":"Emma"}')]
