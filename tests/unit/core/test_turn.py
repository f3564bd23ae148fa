"""The turn: frozen prompt, replayed history, tool loop, and how a turn ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hookline.sessions.prompt import envelope
from hookline.testing import calls
from hookline_hookspecs import (
    AuthError,
    CachePrice,
    ContextBlock,
    ContextTooLong,
    ImageBlock,
    Message,
    ModelRequest,
    ModelResponse,
    NetworkError,
    Overloaded,
    Plugin,
    PrefixBreak,
    RateLimited,
    Reply,
    Section,
    Session,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolResult,
    ToolResultBlock,
    Turn,
    Usage,
    WireRequest,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig
from hypothesis import given
from hypothesis import strategies as st

Make = Callable[..., Any]


class Tools(Plugin[NoConfig]):
    """Tools that succeed and fail in every way."""

    @tool(read_only=True)
    def look(self, where: str = "here") -> str:
        """Look somewhere."""
        return f"seen {where}"

    @tool
    def act(self, what: str, times: int = 1) -> str:
        """Change something."""
        return f"did {what}" * times

    @tool
    def fails(self, how: str) -> Any:
        """Fail in a certain way."""
        match how:
            case "tool error":
                raise ToolError("the shelf is empty")
            case "exception":
                raise ValueError("a slip")
            case "exit":
                raise SystemExit(1)
            case "permission":
                raise PermissionError("that folder is not yours")
            case "nothing":
                return None
            case "data":
                return {"b": [1, "ä"]}
            case "odd keys":
                return {("a", "b"): 1}
            case "circle":
                circle: list[Any] = []
                circle.append(circle)
                return circle
            case "output":
                picture = ImageBlock("image/png", "AA==", origins=())
                return ToolOutput("half", ok=False, notes=("rest",), data=[1], images=(picture,))
            case "result":  # how plugins for API 1.0 say it
                return ToolResult(ToolCall("", "made up", {}), "half", False, ("rest",), [1])
            case "stop iteration":
                return next(iter([]))
        return "fine"


class Remembers(Plugin[NoConfig]):
    """A section and a context block that differ at each turn."""

    turns = 0

    @hookimpl
    def system_prompt(self, ctx: Any, session: Session) -> Section:
        return Section("memory", f"MEMORY of {session.id}")

    @hookimpl
    def pre_prompt(self, ctx: Any, turn: Turn) -> ContextBlock:
        Remembers.turns += 1
        return ContextBlock("recalled-context", f"number {Remembers.turns}")


def texts(outcome: Any) -> list[str]:
    return [result.text for result in outcome.tool_calls]


def assert_prefixes(wires: list[WireRequest]) -> None:
    """Each request begins with exactly the bytes of the one before it."""
    assert len(wires) > 1
    for before, after in pairwise(wires):
        assert after.stable == before.stable
        assert after.fragments[: len(before.fragments)] == before.fragments
        assert len(after.fragments) > len(before.fragments)


def assert_whole(messages: Any) -> None:
    """Roles alternate and each tool call has exactly one result, in the next message."""
    assert [m.role for m in messages] == ["user", "assistant"] * (len(messages) // 2) + (
        ["user"] if len(messages) % 2 else []
    )
    for number, message in enumerate(messages):
        if message.tool_calls:
            results = [b for b in messages[number + 1].blocks if isinstance(b, ToolResultBlock)]
            assert [r.call_id for r in results] == [c.id for c in message.tool_calls]


def history(h: Any, session: str = "test") -> list[Message]:
    found: list[Message] = h.run(h.plugin(Tools).host.messages(session))
    return found


# The frozen prompt and the replayed history


def test_request_starts_with_the_bytes_of_the_previous_request(harness: Make) -> None:
    script = [[calls("look"), calls("act", what="x")], "a", "b", [calls("look")], "c"]
    h = harness(Remembers, Tools, model=script)
    for text in ("x", "y", "z"):
        h.send(text)
    assert_prefixes(h.model.wires)


def test_requests_after_a_restart_send_the_same_bytes(harness: Make, tmp_path: Path) -> None:
    thinking = ThinkingBlock("hm", signature="seal")
    response = ModelResponse((thinking, TextBlock("ü ✓"), ToolCall("c", "look", {})), "tools")
    first = harness(Remembers, Tools, home=tmp_path / "one", model=[response, "a"])
    first.send("x", system="for once")
    first.close()
    h = harness(Remembers, Tools, home=tmp_path / "one", model=["b"])
    h.send("y")
    assert_prefixes([*first.model.wires, *h.model.wires])
    assert h.model.last.system == first.model.last.system
    assert h.model.last.tools == first.model.last.tools
    assert_whole(h.model.last.messages)


@pytest.mark.slow
def test_added_plugin_changes_only_new_sessions(harness: Make, tmp_path: Path) -> None:
    first = harness(Tools, home=tmp_path / "one", model=["a"])
    first.send("x")
    first.close()
    h = harness(Tools, Remembers, home=tmp_path / "one", model=["b", "c"])
    h.send("y")
    assert h.model.last.system == first.model.last.system
    assert "MEMORY" not in h.model.last.system
    h.send("z", session="new")
    assert "MEMORY of new" in h.model.last.system


def test_date_change_is_announced_once_in_the_turn(harness: Make, clock: Any) -> None:
    h = harness(Tools, model=["a", "b", "c"], core={"session.idle_hours": 1000})
    h.send("x")
    began = h.model.last
    assert began.messages[0].context == ""
    clock.forward(days=1)
    h.send("y")
    assert h.model.last.system == began.system
    day = h.model.last.messages[-1].context
    assert "<notices>The date is now " in day
    h.send("z")
    assert h.model.last.messages[-1].context == ""
    assert h.model.last.messages[2].context == day, "replayed where it was said"


def test_system_prompt_has_the_date_but_no_time(harness: Make, clock: Any) -> None:
    h = harness(Tools, model=["a", "b"])
    h.send("x", session="one")
    clock.forward(hours=0.01)
    h.send("x", session="two")
    one, two = (request.system for request in h.model.requests)
    assert one == two


def test_context_follows_the_text_and_is_not_stored_in_the_message(harness: Make) -> None:
    h = harness(Remembers, Tools, model=["a"])
    h.send("hello")
    (message,) = h.model.last.messages
    assert message.text == "hello"
    assert message.context.startswith("<context>\n<recalled-context>number ")
    stored = history(h)
    assert [m.text for m in stored] == ["hello", "a"]
    assert all(m.context == "" for m in stored)
    assert all("number" not in str(m.to_dict()) for m in stored)


def test_pre_model_context_changes_are_sent_and_replayed(harness: Make) -> None:
    class Trims(Plugin[NoConfig]):
        @hookimpl
        def pre_model(self, ctx: Any, request: ModelRequest) -> ModelRequest | None:
            if len(request.context) == 1:
                return None
            return replace(request, context=request.context[:1])

    class Chatty(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Any, turn: Turn) -> list[ContextBlock]:
            return [ContextBlock("skills", "KEPT"), ContextBlock("notices", "DROPPED")]

    h = harness(Trims, Chatty, Tools, model=[[calls("look")], "a", "b"])
    h.send("x")
    h.send("y")
    assert "KEPT" in h.model.requests[0].messages[0].context
    assert "DROPPED" not in h.model.requests[0].messages[0].context
    assert_prefixes(h.model.wires)


def test_system_prompt_change_mid_session_is_refused_by_plugin_name(harness: Make) -> None:
    class Fickle(Plugin[NoConfig]):
        @hookimpl
        def pre_model(self, ctx: Any, request: ModelRequest) -> ModelRequest:
            text = request.messages[-1].text
            if text == "tools":
                return replace(request, tools=())
            return replace(request, system=f"{request.system}\n{text}")

    h = harness(Fickle, Tools, model=["a", "b", "c"])
    assert h.send("first").notices == ()
    assert h.model.last.system.endswith("\nfirst"), "the first request may be changed"
    changed = h.send("second")
    assert h.model.last.system == h.model.requests[0].system
    assert [notice.text for notice in changed.notices if "fickle" in notice.text]
    assert [n for n in h.send("tools").notices if "tools" in n.text and "fickle" in n.text]
    assert h.model.last.tools == h.model.requests[0].tools != ()
    assert_prefixes(h.model.wires)


def test_prompt_is_the_same_bytes_after_a_restart(harness: Make, tmp_path: Path) -> None:
    class Adds(Plugin[NoConfig]):
        @hookimpl
        def pre_model(self, ctx: Any, request: ModelRequest) -> ModelRequest | None:
            if "ADDED" in request.system:
                return None
            return replace(request, system=request.system + "\nADDED", tools=request.tools[:1])

    first = harness(Adds, Tools, home=tmp_path / "one", model=["a"])
    first.send("x")
    first.close()
    h = harness(Adds, Tools, home=tmp_path / "one", model=["b"])
    assert h.send("y").notices == ()
    assert_prefixes([*first.model.wires, *h.model.wires])


def test_undo_of_the_first_turn_keeps_the_frozen_prompt(harness: Make) -> None:
    class Fickle(Plugin[NoConfig]):
        @hookimpl
        def pre_model(self, ctx: Any, request: ModelRequest) -> ModelRequest:
            return replace(request, system=f"{request.system}\n{request.messages[-1].text}")

    h = harness(Fickle, Tools, model=["a", "b"])
    h.send("first")
    h.send("/undo")
    h.send("second")
    assert h.model.last.system == h.model.requests[0].system


def test_pre_send_change_of_an_old_fragment_is_recorded_by_plugin(harness: Make) -> None:
    class Rewrites(Plugin[NoConfig]):
        @hookimpl
        def pre_send(self, ctx: Any, wire: WireRequest) -> WireRequest | None:
            if len(wire.fragments) < 5:
                return None
            return replace(wire, fragments=(b'"gone"', *wire.fragments[1:]))

    h = harness(Rewrites, Tools, model=["a", "b", "c"])
    h.send("x")
    h.send("y")
    assert [call.result.broken for call in h.hooks["model"]] == [None, None]
    h.send("z")
    assert h.model.wires[-1].fragments[0] == b'"gone"'
    broken = h.hooks["model"][-1].result.broken
    assert broken == PrefixBreak("history", "rewrites", 1, 0, "test/model")


def test_ephemeral_system_text_is_sent_for_one_turn_and_not_stored(harness: Make) -> None:
    h = harness(Tools, model=[[calls("look")], "a", "b"])
    h.send("x", system="SPEAK-LIKE-A-PIRATE")
    h.send("y")
    assert [r.ephemeral for r in h.model.requests] == ["SPEAK-LIKE-A-PIRATE"] * 2 + [""]
    assert "PIRATE" not in h.model.last.system
    assert "PIRATE" not in str([m.to_dict() for m in history(h)])


@pytest.mark.sqlite
def test_ephemeral_system_text_is_not_written_to_disk(harness: Make) -> None:
    h = harness(Tools, model=["a"])
    h.send("HELLO-THERE", system="SPEAK-LIKE-A-PIRATE")
    h.close()
    stored = b"".join(path.read_bytes() for path in h.home.glob("hookline.db*"))
    assert b"HELLO-THERE" in stored
    assert b"SPEAK-LIKE-A-PIRATE" not in stored


words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20)
names = st.sampled_from(["skills", "recalled-context", "notices", "no tag", "<b>", ""])


@given(st.lists(st.builds(ContextBlock, names, words, st.tuples(st.tuples(words, words)), names)))
def test_context_block_text_is_escaped(blocks: list[ContextBlock]) -> None:
    text = envelope(blocks)
    if not blocks:
        assert text == ""
        return
    root = ET.fromstring(text)
    assert root.tag == "context"
    tags = [child.tag for child in root]
    assert len(tags) == len(set(tags)), "blocks of one tag are merged"
    items = [item for child in root for item in child]
    assert sorted(item.text or "" for item in items) == sorted(b.items[0][1] for b in blocks)
    assert all(len(item) == 0 for item in items)


def test_two_processes_taking_turns_share_history(harness: Make, tmp_path: Path) -> None:
    one = harness(Remembers, Tools, home=tmp_path / "one", model=["a", "c"])
    two = harness(Remembers, Tools, home=tmp_path / "one", model=[[calls("look")], "b", "d"])
    wires = []
    for h, text in [(one, "1"), (two, "2"), (one, "3"), (two, "4")]:
        h.send(text)
        wires.append(h.model.wires[-1])
    assert_prefixes(wires)
    assert [m.text for m in two.model.last.messages if m.text] == list("1a2b3c4")


# The tool loop


def test_read_only_calls_run_in_parallel_and_results_keep_order(harness: Make) -> None:
    class Slow(Plugin[NoConfig]):
        @tool(read_only=True)
        async def meet(self, name: str) -> str:
            """Wait for the others."""
            order.append(f"{name} in")
            async with asyncio.timeout(5):
                await barrier.wait()
            await asyncio.sleep(0.02 if name == "a" else 0)
            order.append(f"{name} out")
            return name

    order: list[str] = []
    barrier = asyncio.Barrier(3)
    h = harness(Slow, model=[[calls("meet", name=name) for name in "abc"], "ok"])
    assert texts(h.send("go")) == ["a", "b", "c"]
    assert sorted(order[:3]) == ["a in", "b in", "c in"]
    assert order[-1] == "a out"
    assert [b.text for b in h.model.last.messages[-1].blocks] == ["a", "b", "c"]


def test_writing_calls_run_one_at_a_time_in_order(harness: Make) -> None:
    class Watch(Plugin[NoConfig]):
        @tool(read_only=True)
        async def look(self, n: int) -> str:
            """Look."""
            return await self.work(f"look {n}")

        @tool
        async def act(self, n: int) -> str:
            """Act."""
            return await self.work(f"act {n}")

        async def work(self, name: str) -> str:
            inside.append(name)
            seen.append(tuple(sorted(inside)))
            await asyncio.sleep(0.01)
            inside.remove(name)
            return name

    inside: list[str] = []
    seen: list[tuple[str, ...]] = []
    asked = [calls("look", n=1), calls("look", n=2), calls("act", n=3), calls("act", n=4)]
    h = harness(Watch, model=[[*asked, calls("look", n=5)], "ok"])
    assert texts(h.send("go")) == ["look 1", "look 2", "act 3", "act 4", "look 5"]
    assert seen == [("look 1",), ("look 1", "look 2"), ("act 3",), ("act 4",), ("look 5",)]


def test_unknown_tool_error_lists_available_tools(harness: Make) -> None:
    h = harness(Tools, model=[[calls("lok")], "ok"])
    (result,) = h.send("go").tool_calls
    assert not result.ok
    assert result.text.startswith("Error: unknown tool 'lok'")
    assert "look" in result.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs the argument 'what'"),
        ({"what": "x", "time": 2}, "did you mean 'times'"),
        ({"what": "x", "times": "often"}, "'times' of act: expected a whole number, got \"often\""),
        ({"what": 5}, "argument 'what' of act: expected a string, got 5"),
        ({"what": None}, "'what' of act: expected a string, got null"),
        ({"what": ["x" * 90]}, f'got ["{"x" * 77}…'),
        (
            {"what": None, "times": 1.5},
            "expected a string, got null; "
            "argument 'times' of act: expected a whole number, got 1.5",
        ),
    ],
)
def test_wrong_arguments_are_an_error_and_the_tool_does_not_run(
    harness: Make, arguments: dict[str, Any], words: str
) -> None:
    h = harness(Tools, model=[[ToolCall("c", "act", arguments)], "ok"])
    (result,) = h.send("go").tool_calls
    assert not result.ok
    assert result.text.startswith("Error: ")
    assert words in result.text
    assert "Input should" not in result.text


def test_unparsable_arguments_result_says_why(harness: Make) -> None:
    bad = ToolCall("c", "act", {}, error="the arguments are not JSON: line 1")
    h = harness(Tools, model=[[bad], "ok"])
    outcome = h.send("go")
    assert texts(outcome) == ["Error: the arguments are not JSON: line 1"]
    assert outcome.text == "ok"


@pytest.mark.parametrize(
    ("how", "text", "ok"),
    [
        ("tool error", "Error: the shelf is empty", False),
        ("exception", "Error: fails failed: ValueError: a slip", False),
        ("exit", "Error: fails failed: SystemExit: 1", False),
        ("permission", "Denied: that folder is not yours", False),
        ("nothing", "(no output)", True),
        ("data", '{"b": [1, "ä"]}', True),
    ],
)
def test_tool_return_or_exception_becomes_its_result(
    harness: Make, how: str, text: str, ok: bool
) -> None:
    h = harness(Tools, model=[[calls("fails", how=how)], "ok"])
    outcome = h.send("go")
    assert [(r.text, r.ok) for r in outcome.tool_calls] == [(text, ok)]
    assert outcome.text == "ok"
    assert_whole(h.model.last.messages)


@pytest.mark.parametrize("how", ["output", "result"])
def test_tool_output_keeps_notes_data_and_images_with_its_call(harness: Make, how: str) -> None:
    h = harness(Tools, model=[[calls("fails", how=how)], "ok"])
    (result,) = h.send("go").tool_calls
    assert (result.call.name, result.call.arguments) == ("fails", {"how": how})
    assert (result.text, result.ok, result.data) == ("half\n\nNote: rest", False, [1])
    assert len(result.images) == (how == "output")
    assert_whole(h.model.last.messages)


@pytest.mark.parametrize("how", ["odd keys", "circle"])
def test_non_json_result_fails_the_call_but_not_the_turn(harness: Make, how: str) -> None:
    h = harness(Tools, model=[[calls("fails", how=how)], "ok"])
    outcome = h.send("go")
    assert outcome.text == "ok"
    assert len(outcome.tool_calls) == 1


def test_sync_tool_raising_stop_iteration_does_not_hang_the_turn(harness: Make) -> None:
    async def go() -> Any:
        async with asyncio.timeout(2):
            return await h.asend("go")

    h = harness(Tools, model=[[calls("fails", how="stop iteration")], "ok"])
    outcome = h.run(go())
    assert outcome.text == "ok"
    assert texts(outcome)[0].startswith("Error: ")


def test_tool_calls_with_equal_ids_get_one_result_each(harness: Make) -> None:
    twins = [ToolCall("same", "look", {"where": "a"}), ToolCall("same", "look", {"where": "b"})]
    h = harness(Tools, model=[twins, "ok"])
    outcome = h.send("go")
    assert outcome.text == "ok"
    assert texts(outcome) == ["seen a", "seen b"]


def test_call_ids_repeated_in_a_later_response_are_accepted(harness: Make) -> None:
    again = [[ToolCall("call_0", "look", {"where": w})] for w in "ab"]
    h = harness(Tools, model=[*again, "ok"])
    assert texts(h.send("go")) == ["seen a", "seen b"]
    assert_whole(h.model.last.messages)


def test_long_result_is_cut_but_its_notes_are_kept(harness: Make) -> None:
    class Long(Plugin[NoConfig]):
        @tool(read_only=True)
        def flood(self) -> ToolResult:
            """Say very much."""
            call = ToolCall("", "", {})
            return ToolResult(call, "x" * 1_000_000, notes=("read it in parts",))

    h = harness(Long, model=[[calls("flood")], "ok"])
    (result,) = h.send("go").tool_calls
    assert len(result.text) < 500_000
    assert "characters left out" in result.text
    assert result.text.endswith("\n\nNote: read it in parts")
    assert result.call.name == "flood"


def test_max_iterations_ends_with_a_final_answer_without_tools(harness: Make) -> None:
    def stubborn(request: ModelRequest) -> Any:
        if request.params.get("tool_choice") == "none":
            return ["as far as I came", calls("look")]
        return [calls("look")]

    h = harness(Tools, model=[stubborn] * 9 + ["next"], core={"max_iterations": 3})
    outcome = h.send("go")
    assert outcome.stop == "max_iterations"
    assert outcome.text.startswith("as far as I came\n\nStopped at the limit of 3 model calls")
    assert [r.params.get("tool_choice") for r in h.model.requests] == [None, None, None, "none"]
    del h.model.steps[:-1]
    assert h.send("and?").text == "next"
    assert_whole(h.model.last.messages)
    assert_prefixes(h.model.wires)


# How a turn fails

ERRORS = [
    AuthError("The key of test was refused; set TEST_API_KEY."),
    RateLimited("Too many requests.", retry_after=3),
    Overloaded("No capacity."),
    ContextTooLong("Too long."),
    NetworkError("The stream broke off."),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.kind)
def test_provider_error_ends_the_turn_with_its_message(harness: Make, error: Exception) -> None:
    h = harness(Tools, model=[error, "back", [calls("look")], error, "again"])
    failed = h.send("x")
    assert (failed.text, failed.stop) == (str(error), "error")
    assert h.send("y").text == "back"
    assert_whole(h.model.last.messages)
    failed = h.send("z")
    assert failed.text == str(error)
    assert texts(failed) == ["seen here"]
    assert h.send("and?").text == "again"
    assert_whole(h.model.last.messages)
    assert_prefixes(h.model.wires)


def test_empty_response_is_requested_once_more(harness: Make) -> None:
    h = harness(Tools, model=["", "now"])
    outcome = h.send("x")
    assert (outcome.text, outcome.usage.input) == ("now", 20)
    h.model.steps += ["  ", "\n", "later"]
    failed = h.send("y")
    assert failed.stop == "error"
    assert "empty" in failed.text
    assert h.send("z").text == "later"
    assert_whole(h.model.last.messages)


def test_model_refusal_is_an_answer(harness: Make) -> None:
    h = harness(Tools, model=[ModelResponse((), "refusal"), "ok"])
    assert "refused" in h.send("x").text
    assert h.send("y").text == "ok"
    assert_whole(h.model.last.messages)


def stored_usage(h: Any) -> list[Any]:
    """What is stored of each model call, oldest first."""
    sql = "SELECT purpose, model, input, cache_read FROM usage ORDER BY created"
    return list(h.run(h.runtime.engine.store.read(lambda db: db.fetch(sql))))


def test_usage_is_summed_over_the_turn(harness: Make) -> None:
    usage = Usage(input=100, cache_read=90, cache_write=5, output=7, reasoning=3)
    asks = ModelResponse((ToolCall("c", "look", {}),), "tools", usage)
    h = harness(Tools, model=[asks, ModelResponse((TextBlock("a"),), "end", usage)])
    assert h.send("x").usage == (usage + usage).priced(CachePrice())
    stored = {"purpose": "turn", "model": "test/model", "input": 100, "cache_read": 90}
    assert stored_usage(h) == [stored, stored]


# Deltas


class Listener:
    def __init__(self, h: Any) -> None:
        self.words: list[str] = []
        h.runtime.bus.signals.connect("delta", lambda event, ctx: self.words.append(event.text))


def test_deltas_are_streamed_if_pre_reply_preserves_streaming(harness: Make) -> None:
    class Adds(Plugin[NoConfig]):
        preserves_streaming = True

        @hookimpl
        def pre_reply(self, ctx: Any, reply: Reply) -> Reply:
            return replace(reply, text=reply.text + "!")

    h = harness(Adds, Tools, model=["one two"])
    heard = Listener(h)
    assert h.send("x").text == "one two!"
    assert heard.words == ["one", "two"]


def test_deltas_are_withheld_if_pre_reply_may_change_the_text(harness: Make) -> None:
    class Redacts(Plugin[NoConfig]):
        @hookimpl
        def pre_reply(self, ctx: Any, reply: Reply) -> Reply:
            return replace(reply, text=reply.text.replace("secret", "[…]"))

    h = harness(Redacts, Tools, model=["my secret"])
    heard = Listener(h)
    assert h.send("x").text == "my […]"
    assert heard.words == []


def test_auxiliary_model_is_not_streamed_and_not_in_history(harness: Make) -> None:
    class Titles(Plugin[NoConfig]):
        @hookimpl
        async def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            titles.append(await self.host.ask_model("A title?", system="Be short."))

    titles: list[str] = []
    h = harness(Titles, Tools, model=["A Title", "hi"], core={"auxiliary_model": "test/small"})
    heard = Listener(h)
    assert h.send("x").text == "hi"
    assert titles == ["A Title"]
    assert heard.words == ["hi"]
    assert [m.text for m in history(h)] == ["x", "hi"]
    assert h.model.requests[0].model == "test/small"
    assert h.model.requests[0].system == "Be short."
    # Work in the background follows an outage less long than a turn, for which a person waits.
    assert [wire.retry_seconds for wire in h.model.wires] == [30.0, None]
    spent = [(row["model"], row["purpose"]) for row in stored_usage(h)]
    assert spent == [("test/small", "auxiliary"), ("test/model", "turn")]
