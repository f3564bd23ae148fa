"""Every path a turn can take, with a plugin that has every turn hook: the same hooks fire, and a
guard holds, however the turn came about."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
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
    Plugin,
    Reply,
    Section,
    Session,
    ToolCall,
    ToolResult,
    Turn,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]
TURN = frozenset(
    {
        "start_of_turn",
        "pre_prompt",
        "pre_model",
        "pre_send",
        "around_model",
        "post_model",
        "pre_tool",
        "around_tool",
        "post_tool",
        "pre_reply",
        "end_of_turn",
    }
)
"""The hooks of every turn that calls a tool."""
MESSAGE = frozenset({"on_message"})
NEW = frozenset({"start_of_session", "system_prompt"})
FIRED: list[str] = []
"""Hooks in the order in which they ran."""
RAN: list[str] = []
"""Tools that really ran."""


@pytest.fixture(autouse=True)
def _clean() -> None:
    FIRED.clear()
    RAN.clear()


class Everything(Plugin[NoConfig]):
    """Implements each hook of a turn and guards: ``danger`` is refused, ``careful`` asks."""

    preserves_streaming = True

    @hookimpl
    def on_message(self, ctx: Any, inbound: Inbound) -> None:
        FIRED.append("on_message")

    @hookimpl
    def start_of_session(self, ctx: Any, session: Session) -> None:
        FIRED.append("start_of_session")

    @hookimpl
    def system_prompt(self, ctx: Any, session: Session) -> Section:
        FIRED.append("system_prompt")
        return Section("user", "USER")

    @hookimpl
    async def start_of_turn(self, ctx: Any, turn: Turn) -> None:
        FIRED.append("start_of_turn")

    @hookimpl
    def pre_prompt(self, ctx: Any, turn: Turn) -> ContextBlock:
        FIRED.append("pre_prompt")
        return ContextBlock("notices", "CONTEXT")

    @hookimpl
    async def pre_model(self, ctx: Any, request: Any) -> None:
        await asyncio.sleep(0)
        FIRED.append("pre_model")

    @hookimpl
    def pre_send(self, ctx: Any, wire: Any) -> None:
        FIRED.append("pre_send")

    @hookimpl
    def around_model(self, ctx: Any, request: Any) -> Any:
        async def middleware(request: Any, call_next: Any) -> Any:
            FIRED.append("around_model")
            return await call_next(request)

        return middleware

    @hookimpl
    def post_model(self, ctx: Any, response: Any) -> None:
        FIRED.append("post_model")

    @hookimpl
    async def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
        await asyncio.sleep(0)
        FIRED.append("pre_tool")
        if call.name == "danger":
            return Deny("too dangerous")
        return Ask("care is needed") if call.name == "careful" else None

    @hookimpl
    def around_tool(self, ctx: Any, call: ToolCall) -> Any:
        async def middleware(call: ToolCall, call_next: Any) -> ToolResult:
            FIRED.append("around_tool")
            return await call_next(call)  # type: ignore[no-any-return]

        return middleware

    @hookimpl
    def post_tool(self, ctx: Any, result: ToolResult) -> None:
        FIRED.append("post_tool")

    @hookimpl
    def pre_reply(self, ctx: Any, reply: Reply) -> None:
        FIRED.append("pre_reply")

    @hookimpl
    def end_of_turn(self, ctx: Any, turn: Turn) -> None:
        FIRED.append("end_of_turn")

    @hookimpl
    def on_question(self, ctx: Any, question: Any) -> None:
        FIRED.append("on_question")

    @hookimpl
    def pre_read(self, ctx: Any, excerpt: Excerpt) -> Deny | None:
        FIRED.append("pre_read")
        return Deny("poisoned") if "poison" in excerpt.text else None


class Tools(Plugin[NoConfig]):
    """What the model may call."""

    @tool(read_only=True)
    async def look(self) -> str:
        """Look around."""
        RAN.append("look")
        return await self.host.read("a view", "window")

    @tool(read_only=True)
    async def peek(self) -> str:
        """Look at something bad."""
        RAN.append("peek")
        return await self.host.read("poison", "window")

    @tool(read_only=True)
    def danger(self) -> str:
        """Do what the guard refuses."""
        RAN.append("danger")
        return "boom"

    @tool
    def careful(self) -> str:
        """Do what needs an approval."""
        RAN.append("careful")
        return "done"

    @tool
    async def delegate(self, ctx: Any) -> str:
        """Let a sub-agent work."""
        RAN.append("delegate")
        turn = await self.host.run_turn("work", parent=ctx)
        return f"{turn.stop}: {turn.reply}: {[r.text for r in turn.tool_calls]}"


ONE = [[calls("danger")], [calls("look")], "done"]
SEVERAL = [[calls("look"), calls("danger"), calls("danger"), calls("look")], "done"]
DENIED = "Denied: too dangerous"


def make(harness: Make, **options: Any) -> Any:
    return harness(Everything, Tools, **options)


def assert_guarded(turn: Any, wanted: list[str]) -> None:
    assert [r.text for r in turn.tool_calls] == wanted
    assert "danger" not in RAN


async def settled(h: Any) -> None:
    """Wait until no background work is left, that which other background work began included."""
    for _ in range(3):
        await h.runtime.finish_background(5)


# Paths on which a person's message arrives


@pytest.mark.parametrize("script", [ONE, SEVERAL], ids=["one-call", "several-calls"])
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_guards_hold_when_streamed_or_not_with_one_or_several_calls(
    harness: Make, script: list[Any], streamed: bool
) -> None:
    h = make(harness, model=script)
    words: list[str] = []
    if streamed:
        h.runtime.bus.signals.connect("delta", lambda event, ctx: words.append(event.text))
    outcome = h.send("go")
    view = ["a view", DENIED]
    wanted = [view[0], DENIED, DENIED, view[0]] if script is SEVERAL else [DENIED, view[0]]
    assert_guarded(outcome, wanted)
    assert ("done" in words) == streamed
    assert set(FIRED) == TURN | MESSAGE | NEW | {"pre_read"}
    assert FIRED.count("pre_tool") == len(wanted)
    assert FIRED.count("post_tool") == len(wanted)
    assert FIRED.count("around_tool") == wanted.count("a view")
    assert FIRED.count("pre_model") == FIRED.count("pre_send") == len(script)
    assert FIRED.count("around_model") == FIRED.count("post_model") == len(script)


def test_pre_read_guard_holds_among_parallel_calls(harness: Make) -> None:
    h = make(harness, model=[[calls("look"), calls("peek"), calls("look")], "done"])
    assert [r.text for r in h.send("go").tool_calls] == ["a view", "Denied: poisoned", "a view"]


def test_guards_hold_in_a_resumed_session(harness: Make, tmp_path: Path) -> None:
    first = make(harness, home=tmp_path / "one", model=ONE)
    first.send("go")
    first.close()
    FIRED.clear()
    h = make(harness, home=tmp_path / "one", model=SEVERAL)
    assert_guarded(h.send("again"), ["a view", DENIED, DENIED, "a view"])
    assert len(h.model.requests[0].messages) == 7
    assert set(FIRED) == TURN | MESSAGE | {"start_of_session", "pre_read"}


async def test_guards_hold_on_a_network_channel(harness: Make) -> None:
    h = make(harness, model=SEVERAL)
    await h.aopen()
    turns: list[Turn] = []
    h.runtime.bus.signals.connect("end_of_turn", lambda event, ctx: turns.append(event))
    await h.channel.say("go")
    (reply,) = await h.channel.replies(1)
    assert reply.text == "done"
    await settled(h)
    assert_guarded(turns[0], ["a view", DENIED, DENIED, "a view"])
    assert set(FIRED) == TURN | MESSAGE | NEW | {"pre_read"}


@pytest.mark.parametrize(("mode", "ran"), [("yes", ["careful"]), ("no", []), ("ask", [])])
def test_run_with_yes_grants_approvals_but_never_denials(
    harness: Make, mode: str, ran: list[str]
) -> None:
    h = make(harness, model=[[calls("danger"), calls("careful")], "done"])
    outcome = h.send("go", approve=mode)
    assert outcome.tool_calls[0].text == DENIED
    assert ran == RAN
    assert outcome.text == "done"
    wanted = TURN | MESSAGE | NEW
    assert set(FIRED) - {"on_question"} == (wanted if ran else wanted - {"around_tool"})
    assert ("on_question" in FIRED) == (mode != "yes")


# Commands


def test_command_fires_on_message_and_no_turn_hook(harness: Make) -> None:
    h = make(harness)
    assert h.send("/whoami").stop == "command"
    assert FIRED == ["on_message"]
    assert h.send("/title A").stop == "command"
    assert not set(FIRED) & TURN


def test_guards_hold_in_a_turn_repeated_by_retry(harness: Make) -> None:
    h = make(harness, model=[*ONE, *SEVERAL])
    h.send("go")
    FIRED.clear()
    assert_guarded(h.send("/retry"), ["a view", DENIED, DENIED, "a view"])
    assert set(FIRED) == TURN | MESSAGE | {"pre_read"}


# Turns without a message


NESTED_RESULT = f"done: done: ['a view', '{DENIED}', '{DENIED}', 'a view']"


def test_guards_hold_in_a_sub_agent(harness: Make) -> None:
    h = make(harness, model=[[calls("delegate")], *SEVERAL, "all done"])
    outcome = h.send("go")
    assert outcome.text == "all done"
    assert [r.text for r in outcome.tool_calls] == [NESTED_RESULT]
    assert RAN == ["delegate", "look", "look"]
    assert FIRED.count("start_of_turn") == FIRED.count("pre_prompt") == 2
    assert FIRED.count("pre_reply") == 2
    assert FIRED.count("pre_tool") == 5
    assert FIRED.count("pre_model") == FIRED.count("pre_send") == FIRED.count("post_model") == 4
    assert FIRED.count("start_of_session") == FIRED.count("system_prompt") == 2
    assert FIRED.count("on_message") == 1


def test_parallel_sub_agent_keeps_the_approval_mode(harness: Make) -> None:
    script = [[calls("delegate")], [calls("careful"), calls("danger")], "x", "all done"]
    h = make(harness, model=script)
    outcome = h.send("go", approve="yes")
    assert outcome.tool_calls[0].text == f"done: x: ['done', '{DENIED}']"
    h.model.steps += script
    assert "no one can approve it" in h.send("go", approve="no").tool_calls[0].text
    assert RAN == ["delegate", "careful", "delegate"]


@pytest.mark.parametrize("kind", ["agent", "review", "schedule"])
def test_guards_hold_in_agent_review_and_scheduled_turns(harness: Make, kind: str) -> None:
    async def go() -> Turn:
        await h.aopen()
        turn: Turn = await h.plugin(Tools).host.run_turn("work", kind=kind)
        await settled(h)
        return turn

    h = make(harness, model=[[calls("danger"), calls("careful"), calls("look")], "done"])
    turn = h.run(go())
    assert turn.reply == "done"
    assert turn.session.kind == kind
    danger, careful, look = (r.text for r in turn.tool_calls)
    assert (danger, look) == (DENIED, "a view")
    assert careful.startswith("Denied: ")
    assert RAN == ["look"]
    wanted = (TURN - {"end_of_turn"}) | NEW | {"pre_read", "on_question"}
    assert set(FIRED) - {"end_of_turn"} == wanted


def test_nested_turn_fires_end_of_turn(harness: Make) -> None:
    async def go() -> None:
        await h.aopen()
        await h.plugin(Tools).host.run_turn("work", kind="schedule")
        await settled(h)

    h = make(harness, model=["done"])
    h.run(go())
    assert FIRED.count("end_of_turn") == 1


CRASHING = """
import sys
from pathlib import Path
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool
from hookline_hookspecs.plugin import NoConfig

class Everything(Plugin[NoConfig]):
    pass

class Tools(Plugin[NoConfig]):
    @tool
    def danger(self) -> str:
        "Do what the guard refuses."
        raise SystemError
    @tool(read_only=True)
    def look(self) -> str:
        "Look around."
        raise SystemError

script = [[calls("danger"), calls("look")], "never"]
Harness(Everything, Tools, home=Path(sys.argv[1]), model=script).send("go")
"""


@pytest.fixture
def resumed(harness: Make, python: Any, tmp_path: Path) -> Any:
    """A home in which a process died before running its calls; the next has resumed the turn."""
    home = tmp_path / "one"
    died = python(CRASHING, str(home), HOOKLINE_CRASH_AT="after-model")
    assert died.returncode == -signal.SIGKILL, died.stderr
    h = make(harness, home=home, model=["taken up", "next"])
    outcome = h.send("and now?")
    assert outcome.text == "next"
    return h


@pytest.mark.slow
def test_guards_hold_in_a_turn_resumed_after_a_crash(resumed: Any) -> None:
    results = resumed.model.requests[0].messages[-1].blocks
    assert [block.text for block in results] == [DENIED, "a view"]
    assert RAN == ["look"]
    assert set(FIRED) - {"end_of_turn"} == (TURN - {"end_of_turn"}) | MESSAGE | {
        "start_of_session",
        "pre_read",
    }
    assert FIRED.count("pre_tool") == 2
    assert FIRED.count("start_of_turn") == 2


@pytest.mark.slow
def test_resumed_turn_fires_end_of_turn(resumed: Any) -> None:
    assert FIRED.count("end_of_turn") == 2


# Signals


def test_reply_sent_signal_follows_a_terminal_reply(harness: Make) -> None:
    h = make(harness, model=["a"])
    heard: list[Reply] = []
    h.runtime.bus.signals.connect("reply_sent", lambda event, ctx: heard.append(event))
    h.send("go")
    assert [reply.text for reply in heard] == ["a"]


async def test_reply_sent_signal_follows_a_channel_reply(harness: Make) -> None:
    h = make(harness, model=["a"])
    await h.aopen()
    heard: list[Reply] = []
    h.runtime.bus.signals.connect("reply_sent", lambda event, ctx: heard.append(event))
    await h.channel.say("go")
    await h.channel.replies(1)
    await settled(h)
    assert [reply.text for reply in heard] == ["a"]


# A copy of a session


async def forked(h: Any, prompt: str = "look back", session: str = "test", **options: Any) -> Turn:
    await h.aopen()
    turn: Turn = await h.plugin(Tools).host.fork(session, prompt, **options)
    await settled(h)
    return turn


def test_fork_continues_from_sent_messages_and_is_guarded(harness: Make) -> None:
    review = [[calls("danger"), calls("careful"), calls("look")], "seen"]
    h = make(harness, model=[*ONE, *review])
    h.send("go")
    FIRED.clear()
    RAN.clear()
    turn = h.run(forked(h))
    assert (turn.reply, turn.session.kind, turn.session.parent_id) == ("seen", "review", "test")
    danger, careful, look = (r.text for r in turn.tool_calls)
    assert (danger, look) == (DENIED, "a view")
    assert careful.startswith("Denied: ")
    assert RAN == ["look"]
    assert set(FIRED) == TURN | {"start_of_session", "pre_read", "on_question"}
    last, fork = h.model.requests[1], h.model.requests[2]
    assert (fork.system, fork.tools) == (last.system, last.tools)
    assert fork.messages[: len(last.messages)] == last.messages


def test_fork_does_not_change_its_session(harness: Make, tmp_path: Path) -> None:
    h = make(harness, home=tmp_path / "one", model=[*ONE, *SEVERAL, "after"])
    h.send("go")
    before = h.run(h.plugin(Tools).host.messages("test"))
    h.run(forked(h))
    assert h.run(h.plugin(Tools).host.messages("test")) == before
    h.send("and now")
    assert [m.role for m in h.model.requests[-1].messages] == [*(m.role for m in before), "user"]


def test_fork_ends_after_its_model_call_limit(harness: Make) -> None:
    h = make(harness, model=[*ONE, *[calls("look") for _ in range(5)]])
    h.send("go")
    turn = h.run(forked(h, max_iterations=3))
    assert (turn.stop, turn.iterations, turn.reply) == ("max_iterations", 3, "")
    assert [result.text for result in turn.tool_calls] == ["a view"] * 3
    assert len(h.model.requests) == len(ONE) + 3


def test_fork_of_an_unknown_session_is_refused(harness: Make) -> None:
    h = make(harness)
    with pytest.raises(LookupError, match="unknown session nowhere"):
        h.run(forked(h, session="nowhere"))
