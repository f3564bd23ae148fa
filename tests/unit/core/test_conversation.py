"""People and turns: stopping, queueing, steering, questions, approvals, repeated messages."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import (
    Answer,
    Ask,
    Attachment,
    Deny,
    GatewayHost,
    Inbound,
    Message,
    ModelRequest,
    Plugin,
    Question,
    Reply,
    ToolCall,
    ToolResult,
    ToolResultBlock,
    Turn,
    hookimpl,
    tool,
)
from hookline_hookspecs.plugin import NoConfig

from .conftest import Clock

Make = Callable[..., Any]
INTERRUPTED = "Interrupted: "


class Slow(Plugin[NoConfig]):
    """Tools that wait until they are released."""

    entered: asyncio.Event
    go_on: asyncio.Event

    @hookimpl
    async def setup(self, host: Any) -> None:
        self.entered, self.go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def wait(self) -> str:
        """Wait."""
        self.entered.set()
        await self.go_on.wait()
        return "waited"

    @tool(read_only=True)
    async def quick(self) -> str:
        """Be quick."""
        return "done"

    @tool(read_only=True)
    async def watch(self) -> str:
        """Watch for long."""
        self.entered.set()
        await self.go_on.wait()
        return "watched"

    @tool
    async def delegate(self, ctx: Any) -> str:
        """Let a sub-agent work."""
        turn = await self.host.run_turn("work", parent=ctx)
        return f"{turn.stop}: {turn.reply}"


async def started(h: Any, text: str = "go") -> asyncio.Task[Any]:
    """A turn that waits in its slow tool."""
    await h.aopen()
    task = asyncio.ensure_future(h.asend(text))
    async with asyncio.timeout(5):
        await h.plugin(Slow).entered.wait()
    return task


def assert_whole(messages: Any) -> None:
    """Roles alternate and each tool call has exactly one result, in the next message."""
    roles = [m.role for m in messages]
    assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))]
    for number, message in enumerate(messages):
        if message.tool_calls:
            results = [b for b in messages[number + 1].blocks if isinstance(b, ToolResultBlock)]
            assert [r.call_id for r in results] == [c.id for c in message.tool_calls]


# Stopping


async def test_stop_leaves_one_result_per_call_and_a_valid_history(harness: Make) -> None:
    asked = [calls("quick"), calls("wait"), calls("quick"), calls("wait")]
    h = harness(Slow, model=[asked, "next"])
    task = await started(h)
    assert (await h.asend("/STOP")).text == "Stopping."
    stopped = await asyncio.wait_for(task, 5)
    assert (stopped.text, stopped.stop) == ("Stopped.", "stopped")
    results = [r.text for r in stopped.tool_calls]
    assert results[0] == "done"
    assert all(text.startswith(INTERRUPTED) for text in results[1:])
    assert (await h.asend("and?")).text == "next"
    assert_whole(h.model.last.messages)
    assert (await h.asend("/stop")).text == "Nothing is running."


async def test_stop_during_parallel_calls_keeps_finished_results(harness: Make) -> None:
    h = harness(Slow, model=[[calls("quick"), calls("watch"), calls("quick")], "next"])
    task = await started(h)
    await h.asend("/stop")
    results = [r.text for r in (await asyncio.wait_for(task, 5)).tool_calls]
    assert (results[0], results[2]) == ("done", "done")
    assert results[1].startswith(INTERRUPTED)
    await h.asend("and?")
    assert_whole(h.model.last.messages)


async def test_stop_interrupts_a_model_call(harness: Make) -> None:
    class Thinks(Plugin[NoConfig]):
        @hookimpl
        def around_model(self, ctx: Any, request: ModelRequest) -> Any:
            async def middleware(request: ModelRequest, call_next: Any) -> Any:
                if request.messages[-1].text == "go":
                    thinking.set()
                    await asyncio.sleep(60)
                return await call_next(request)

            return middleware

    thinking = asyncio.Event()
    h = harness(Thinks, model=["next"])
    await h.aopen()
    task = asyncio.ensure_future(h.asend("go"))
    await thinking.wait()
    await h.asend("/stop")
    assert (await asyncio.wait_for(task, 5)).stop == "stopped"
    assert (await h.asend("and?")).text == "next"
    assert_whole(h.model.last.messages)


async def test_stop_keeps_the_response_in_history(harness: Make) -> None:
    class Lingers(Plugin[NoConfig]):
        @hookimpl
        def around_model(self, ctx: Any, request: ModelRequest) -> Any:
            async def middleware(request: ModelRequest, call_next: Any) -> Any:
                response = await call_next(request)
                if response.text == "half":
                    said.set()
                    await asyncio.sleep(60)
                return response

            return middleware

    said = asyncio.Event()
    h = harness(Lingers, model=["half", "next"])
    await h.aopen()
    task = asyncio.ensure_future(h.asend("go"))
    await said.wait()
    await h.asend("/stop")
    assert (await asyncio.wait_for(task, 5)).text == "half\n\nStopped."
    assert (await h.asend("and?")).text == "next"
    assert [message.text for message in h.model.last.messages] == ["go", "half\n\nStopped.", "and?"]
    assert_whole(h.model.last.messages)


async def test_stop_ends_sub_agent_and_parent(harness: Make) -> None:
    h = harness(Slow, model=[[calls("delegate")], [calls("wait")], "next"])
    task = await started(h)
    await h.asend("/stop")
    stopped = await asyncio.wait_for(task, 5)
    assert stopped.stop == "stopped"
    assert stopped.tool_calls[0].text.startswith(INTERRUPTED)
    assert (await h.asend("and?")).text == "next"
    assert_whole(h.model.last.messages)


async def test_second_stop_does_not_lose_the_reply(harness: Make) -> None:
    class Slowly(Plugin[NoConfig]):
        @hookimpl
        async def pre_reply(self, ctx: Any, reply: Reply) -> None:
            formatting.set()
            await asyncio.sleep(0.1)

    formatting = asyncio.Event()
    h = harness(Slow, Slowly, model=[[calls("wait")], "next"])
    await h.aopen()
    await h.channel.say("go")
    await h.plugin(Slow).entered.wait()
    await h.channel.say("/stop")
    await formatting.wait()
    await h.channel.say("/stop")
    await h.runtime.finish_background(5)
    assert [reply.text for reply in h.channel.sent].count("Stopped.") == 1


async def test_stop_does_not_affect_other_chats(harness: Make) -> None:
    h = harness(Slow, model=[[calls("wait")], "done"])
    await h.aopen()
    await h.channel.say("go", chat="a")
    await h.plugin(Slow).entered.wait()
    await h.channel.say("/stop", chat="b")
    assert (await h.channel.replies(1))[0].text == "Nothing is running."
    h.plugin(Slow).go_on.set()
    assert (await h.channel.replies(2))[1].text == "done"


async def test_stopped_turn_is_complete_after_restart(harness: Make, tmp_path: Path) -> None:
    h = harness(Slow, home=tmp_path / "one", model=[[calls("wait"), calls("wait")]])
    task = await started(h)
    await h.asend("/stop")
    await task
    await h.aclose()
    again = harness(Slow, home=tmp_path / "one", model=["next"])
    assert (await again.asend("and?")).text == "next"
    assert_whole(again.model.last.messages)
    assert len(again.model.last.messages) == 5


# Queueing and steering


async def test_messages_during_a_turn_get_own_turns_in_order(harness: Make) -> None:
    def echo(request: ModelRequest) -> str:
        return f"re: {request.messages[-1].text}"

    h = harness(Slow, model=[[calls("wait")], "first", echo, echo, echo])
    await h.aopen()
    await h.channel.say("go")
    await h.plugin(Slow).entered.wait()
    for text in ("one", "two", "three"):
        await h.channel.say(text)
    await h.channel.say("/queue")
    assert (await h.channel.replies(1))[0].text == "3 messages are queued."
    assert len(h.model.requests) == 1
    h.plugin(Slow).go_on.set()
    replies = await h.channel.replies(5)
    assert [r.text for r in replies[1:]] == ["first", "re: one", "re: two", "re: three"]
    assert_whole(h.model.last.messages)


async def test_chats_do_not_wait_for_each_other(harness: Make) -> None:
    h = harness(Slow, model=[[calls("wait")], "other"])
    await h.aopen()
    await h.channel.say("go", chat="a")
    await h.plugin(Slow).entered.wait()
    await h.channel.say("hello", chat="b")
    (reply,) = await h.channel.replies(1)
    assert (reply.text, reply.session.chat_id) == ("other", "b")


async def test_steer_adds_text_at_the_next_step_of_the_running_turn(harness: Make) -> None:
    h = harness(Slow, model=[[calls("wait")], "done"])
    task = await started(h)
    assert (await h.asend("/steer mind the gap")).text == "The running turn will see it."
    h.plugin(Slow).go_on.set()
    assert (await task).text == "done"
    last = h.model.last.messages[-1]
    assert isinstance(last.blocks[0], ToolResultBlock)
    assert last.text == "mind the gap"
    assert_whole(h.model.last.messages)


async def test_steer_after_the_last_step_is_not_lost(harness: Make) -> None:
    class Thinks(Plugin[NoConfig]):
        @hookimpl
        async def post_model(self, ctx: Any, response: Any) -> None:
            if response.text == "answer":
                answered.set()
                await asyncio.sleep(0.1)

    answered = asyncio.Event()
    h = harness(Thinks, model=["answer", "steered", "third"])
    await h.aopen()
    await h.channel.say("go")
    await answered.wait()
    await h.channel.say("/steer mind the gap")
    await h.channel.replies(2)
    for _ in range(3):
        await h.runtime.finish_background(5)
    if len(h.model.requests) == 1:
        await h.channel.say("and?")
        await h.channel.replies(3)
    said = "".join(str(m.to_dict()) for m in h.model.last.messages)
    assert "mind the gap" in said


async def test_steer_without_a_running_turn_is_a_message(harness: Make) -> None:
    h = harness(Slow, model=["steered"])
    await h.aopen()
    await h.channel.say("/steer mind the gap")
    replies = await h.channel.replies(2)
    assert sorted(r.text for r in replies) == ["Queued.", "steered"]
    assert h.model.last.messages[-1].text == "mind the gap"


async def test_queue_runs_a_message_after_the_turn(harness: Make) -> None:
    h = harness(Slow, model=[[calls("wait")], "first", "second"])
    await h.aopen()
    await h.channel.say("go")
    await h.plugin(Slow).entered.wait()
    await h.channel.say("/queue later")
    await h.channel.replies(1)
    h.plugin(Slow).go_on.set()
    replies = await h.channel.replies(3)
    assert [r.text for r in replies] == ["Queued.", "first", "second"]
    assert h.model.last.messages[-1].text == "later"


# Repeated messages and delivery


async def test_message_received_twice_is_answered_once(harness: Make, tmp_path: Path) -> None:
    h = harness(Slow, home=tmp_path / "one", model=["a", "b"])
    await h.aopen()
    assert await h.channel.say("hello", message_id="m1")
    assert not await h.channel.say("hello", message_id="m1")
    await h.channel.replies(1)
    assert not await h.channel.say("hello", message_id="m1")
    assert await h.channel.say("hello", message_id="m2")
    assert [r.text for r in await h.channel.replies(2)] == ["a", "b"]
    await h.runtime.finish_background(5)
    await h.aclose()
    again = harness(Slow, home=tmp_path / "one")
    await again.aopen()
    assert not await again.channel.say("hello", message_id="m1")


async def test_message_submitted_twice_is_answered_once(harness: Make) -> None:
    h = harness(Slow, model=["a", "b"])
    assert (await h.asend("hello", message_id="m1")).text == "a"
    await h.asend("hello", message_id="m1")
    assert len(h.model.requests) == 1


@pytest.mark.slow
async def test_reply_is_resent_until_confirmed(harness: Make) -> None:
    h = harness(Slow, model=["a", "b"])
    await h.aopen()
    h.channel.fail = 1
    await h.channel.say("x", message_id="m1")
    await h.channel.say("y", message_id="m2")
    replies = await h.channel.replies(2)
    assert [(r.text, r.in_reply_to) for r in replies] == [("a", "m1"), ("b", "m2")]


class Moody:
    """A channel that cannot reach one of its chats."""

    name, edits, network = "moody", False, True

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.arrived = asyncio.Event()
        self.refused = asyncio.Event()

    async def start(self) -> None: ...

    async def wait(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, reply: Reply) -> str | None:
        if reply.session.chat_id == "blocked":
            self.refused.set()
            raise ConnectionError("the bot was blocked")
        self.sent.append(reply.text)
        self.arrived.set()
        return "1"


async def test_unreachable_chat_does_not_delay_other_chats(harness: Make) -> None:
    class Mail(Plugin[NoConfig]):
        @hookimpl
        def register_channels(self, register: Any) -> None:
            register(moody)

    moody = Moody()
    h = harness(Mail, model=["lost", "hi"])
    await h.aopen()
    host = h.plugin(Mail).host
    await host.receive(Inbound("moody", "blocked", "u", "m1", "x"))
    async with asyncio.timeout(5):
        await moody.refused.wait()
    await host.receive(Inbound("moody", "open", "u", "m2", "y"))
    async with asyncio.timeout(2):
        await moody.arrived.wait()
    assert moody.sent == ["hi"]


# Questions


class Asks(Plugin[NoConfig]):
    """A tool that ends the turn with a question."""

    @tool(read_only=True)
    def clarify(self, question: str) -> ToolResult:
        """Ask the person."""
        data = Question(question, ("Red", "Green"))
        return ToolResult(ToolCall("", "", {}), "Asked.", data=data)


NUMBERED = "Which?\n1. Red\n2. Green\n3. Other"


@pytest.mark.parametrize(
    ("said", "meant"),
    [("2", "Green"), (" 1. ", "Red"), ("3", "Other"), ("7", "7"), ("0", "0"), ("Blue", "Blue")],
)
def test_question_ends_the_turn_and_a_number_answers_it(
    harness: Make, said: str, meant: str
) -> None:
    h = harness(Asks, model=[[calls("clarify", question="Which?")], "thanks", "more"])
    asked = h.send("paint it")
    assert (asked.text, asked.stop) == (NUMBERED, "question")
    assert [r.text for r in asked.tool_calls] == ["Asked."]
    assert h.send(said).text == "thanks"
    assert h.model.last.messages[-1].text == meant
    assert_whole(h.model.last.messages)
    h.send("1")
    assert h.model.last.messages[-1].text == "1", "an answered question is closed"


def test_question_survives_restart(harness: Make, tmp_path: Path) -> None:
    first = harness(Asks, home=tmp_path / "one", model=[[calls("clarify", question="Which?")]])
    first.send("paint it")
    first.close()
    h = harness(Asks, home=tmp_path / "one", model=["thanks"])
    h.send("1")
    assert h.model.last.messages[-1].text == "Red"


@pytest.mark.parametrize(("early", "meant"), [(True, "1"), (False, "Red")])
async def test_number_sent_before_question_delivery_is_not_an_answer(
    harness: Make, clock: Clock, early: bool, meant: str
) -> None:
    h = harness(Asks, model=[[calls("clarify", question="Which?")], "thanks"])
    await h.aopen()
    sending, arrived, send = asyncio.Event(), asyncio.Event(), h.channel.send

    async def slow(reply: Reply) -> str:
        sending.set()
        await arrived.wait()
        return str(await send(reply))

    h.channel.send = slow
    await h.channel.say("paint it", received=clock.now())
    await sending.wait()
    at = clock.now()
    clock.ahead += 5
    arrived.set()
    await h.channel.replies(1)
    await h.runtime.finish_background(5)
    await h.channel.say("1", received=at if early else clock.now())
    await h.channel.replies(2)
    assert h.model.last.messages[-1].text == meant


async def test_number_sent_during_question_delivery_is_not_an_answer(
    harness: Make, clock: Clock
) -> None:
    h = harness(Asks, model=[[calls("clarify", question="Which?")], "thanks"])
    await h.aopen()
    h.channel.fail = 1
    await h.channel.say("paint it", received=clock.now())
    async with asyncio.timeout(20):
        while h.channel.fail:
            await asyncio.sleep(0.01)
    clock.ahead += 5
    await h.channel.say("1", received=clock.now())
    await h.channel.replies(2)
    assert h.model.last.messages[-1].text == "1"


async def test_question_reply_carries_its_choices(harness: Make) -> None:
    h = harness(Asks, model=[[calls("clarify", question="Which?")], "thanks"])
    await h.aopen()
    await h.channel.say("paint it")
    (reply,) = await h.channel.replies(1)
    assert (reply.text, reply.choices) == (NUMBERED, ("Red", "Green"))
    await h.runtime.finish_background(5)
    host = h.plugin(Asks).host
    assert await host.services[GatewayHost].answer(reply.session.id, "Green", "user")
    assert (await h.channel.replies(2))[1].text == "thanks"
    await h.runtime.finish_background(5)
    assert h.model.last.messages[-1].text == "Green"
    assert not await host.services[GatewayHost].answer(reply.session.id, "Red", "user")


async def test_turn_started_by_a_button_can_be_stopped(harness: Make) -> None:
    h = harness(Asks, Slow, model=[[calls("clarify", question="Which?")], [calls("wait")]])
    await h.aopen()
    await h.channel.say("paint it")
    (reply,) = await h.channel.replies(1)
    await h.runtime.finish_background(5)
    await h.plugin(Asks).host.services[GatewayHost].answer(reply.session.id, "Green", "user")
    async with asyncio.timeout(5):
        await h.plugin(Slow).entered.wait()
    await h.channel.say("/stop")
    replies = await h.channel.replies(2)
    assert replies[1].text in ("Stopping.", "Stopped.")


# Approvals


class Careful(Plugin[NoConfig]):
    """A tool that needs an approval, and the calls that ran."""

    ran: list[str]

    @hookimpl
    def setup(self, host: Any) -> None:
        self.ran = []

    @tool(approval="it deletes files")
    def delete(self, path: str) -> str:
        """Delete a file."""
        self.ran.append(path)
        return f"deleted {path}"

    @tool
    def act(self, what: str) -> str:
        """Change something."""
        self.ran.append(what)
        return f"did {what}"


@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        ("Allow once", True),
        ("Allow in this session", False),
        ("Allow always", False),
        ("Deny", False),
        ("once", False),
        ("", False),
        ("sure, why not", False),
    ],
)
def test_approval_without_grants_takes_only_allow_once(
    harness: Make, answer: str, runs: bool
) -> None:
    h = harness(Careful, model=[[calls("delete", path="a.txt")], "ok"], answers=[answer])
    (result,) = h.send("go").tool_calls
    assert (h.plugin(Careful).ran == ["a.txt"]) is runs
    assert result.ok is runs
    assert runs or result.text.startswith("Denied: it deletes files")
    (question,) = h.questions
    assert question.choices == ("Allow once", "Deny")
    assert "a.txt" in question.preview
    assert question.call.arguments == {"path": "a.txt"}


def test_approval_asks_for_each_call(harness: Make) -> None:
    asked = [calls("delete", path="a"), calls("delete", path="b")]
    h = harness(Careful, model=[asked, "ok"], answers=["Allow once", "Deny"])
    h.send("go")
    assert h.plugin(Careful).ran == ["a"]
    assert [q.call.arguments["path"] for q in h.questions] == ["a", "b"]


@pytest.mark.parametrize(("mode", "ran"), [("yes", ["a"]), ("no", [])])
def test_yes_grants_and_no_input_denies_without_asking(
    harness: Make, mode: str, ran: list[str]
) -> None:
    h = harness(Careful, model=[[calls("delete", path="a")], "ok"], answers=["Allow once"])
    outcome = h.send("go", approve=mode)
    assert h.plugin(Careful).ran == ran
    assert outcome.text == "ok"
    assert h.answers == ["Allow once"], "the person was not asked"
    if mode == "no":
        assert "no one can approve it" in outcome.tool_calls[0].text


@pytest.mark.parametrize(("mode", "ran"), [("yes", ["a", "a"]), ("no", [])])
def test_retry_keeps_the_approval_mode(harness: Make, mode: str, ran: list[str]) -> None:
    script = [[calls("delete", path="a")], "ok"] * 2
    h = harness(Careful, model=script, answers=["Deny" if ran else "Allow once"])
    h.send("go", approve=mode)
    h.send("/retry", approve=mode)
    assert h.plugin(Careful).ran == ran


def test_yes_does_not_override_deny_and_guard_answer_keeps_approval(harness: Make) -> None:
    class Guard(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            if call.name == "delete":
                return Answer("cached") if call.arguments["path"] == "a" else Deny("never")
            return None

    asked = [calls("delete", path="a"), calls("delete", path="b")]
    h = harness(Guard, Careful, model=[asked, "ok", *[asked, "ok"]])
    denied, never = h.send("go", approve="no").tool_calls
    assert denied.text.startswith("Denied: it deletes files")
    assert never.text == "Denied: never"
    assert h.send("go", approve="yes").tool_calls[1].text == "Denied: never"
    assert "b" not in h.plugin(Careful).ran


class Redirects(Plugin[NoConfig]):
    """Middleware that changes ``a`` into ``b``."""

    @hookimpl
    def around_tool(self, ctx: Any, call: ToolCall) -> Any:
        async def middleware(call: ToolCall, call_next: Any) -> ToolResult:
            key = next(iter(call.arguments))
            if call.arguments[key] == "a":
                call = replace(call, arguments={key: "b"})
            return await call_next(call)  # type: ignore[no-any-return]

        return middleware


@pytest.mark.parametrize(
    ("answers", "ran"), [(["Allow once", "Allow once"], ["b"]), (["Allow once", "Deny"], [])]
)
def test_call_changed_by_middleware_needs_a_new_approval(
    harness: Make, answers: list[str], ran: list[str]
) -> None:
    h = harness(Redirects, Careful, model=[[calls("delete", path="a")], "ok"], answers=answers)
    h.send("go")
    assert [q.call.arguments["path"] for q in h.questions] == ["a", "b"]
    assert h.plugin(Careful).ran == ran


def test_call_changed_by_middleware_passes_guards_again(harness: Make) -> None:
    class Guard(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            return Deny("never b") if call.arguments["what"] == "b" else None

    h = harness(Redirects, Guard, Careful, model=[[calls("act", what="a")], "ok"])
    assert h.send("go").tool_calls[0].text == "Denied: never b"
    assert h.plugin(Careful).ran == []


def test_middleware_cannot_turn_one_tool_into_another(harness: Make) -> None:
    class Swaps(Plugin[NoConfig]):
        @hookimpl
        def around_tool(self, ctx: Any, call: ToolCall) -> Any:
            async def middleware(call: ToolCall, call_next: Any) -> ToolResult:
                swapped = ToolCall(call.id, "delete", {"path": "x"})
                return await call_next(swapped)  # type: ignore[no-any-return]

            return middleware

    h = harness(Swaps, Careful, model=[[calls("act", what="a")], "ok"])
    (result,) = h.send("go").tool_calls
    assert not result.ok
    assert h.plugin(Careful).ran == []


@pytest.mark.parametrize("where", ["pre_tool", "on_question", "signal"])
def test_arguments_changed_in_place_pass_guards_again(harness: Make, where: str) -> None:
    def swap(call: ToolCall) -> None:
        if call.arguments.get("what") == "a":
            call.arguments["what"] = "b"

    class Guard(Plugin[NoConfig]):
        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> Any:
            return Deny("never b") if call.arguments["what"] == "b" else Ask("sure?")

    class Sneaks(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            if where == "signal":
                host.signals.connect("pre_tool", lambda event, ctx: swap(event))

        @hookimpl
        def pre_tool(self, ctx: Any, call: ToolCall) -> None:
            if where == "pre_tool":
                swap(call)

        @hookimpl
        def on_question(self, ctx: Any, question: Question) -> str:
            if where == "on_question" and question.call is not None:
                swap(question.call)
            return "Allow once"

    h = harness(Guard, Sneaks, Careful, model=[[calls("act", what="a")], "ok"], strict=False)
    h.send("go")
    assert "b" not in h.plugin(Careful).ran


def test_history_keeps_the_arguments_of_the_model(harness: Make) -> None:
    h = harness(Redirects, Careful, model=[[calls("act", what="a")], "ok"])
    h.send("go")
    assert h.model.last.messages[1].tool_calls[0].arguments == {"what": "a"}


# Failures in a row and stashes in a real session


def test_plugin_is_off_for_the_session_after_three_failures(harness: Make) -> None:
    class Shaky(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            raise ValueError("broken")

    h = harness(Shaky, model=[str(n) for n in range(6)], strict=False)
    told = [len(h.send("x").notices) for _ in range(5)]
    assert told == [0, 0, 1, 0, 0]
    assert len(h.hooks["start_of_turn"]) == 3
    h.send("x", session="another")
    assert len(h.hooks["start_of_turn"]) == 4


@pytest.mark.parametrize("between", ["", "/model test/other", "/title A", "/undo", "/status"])
def test_session_stash_stays_in_this_process(harness: Make, between: str) -> None:
    class Counts(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            kept = ctx.stash.session
            kept["turns"] = kept.get("turns", 0) + 1
            assert "turn" not in ctx.stash
            ctx.stash["turn"] = turn.id
            seen.append(kept["turns"])

        @hookimpl
        def end_of_turn(self, ctx: Any, turn: Turn) -> None:
            assert ctx.stash["turn"] == turn.id

    seen: list[int] = []
    h = harness(Counts, model=["a", "b"])
    h.send("x")
    if between:
        h.send(between)
    assert h.send("y").text == "b"
    assert seen == [1, 2]
    assert [event.resumed for hook, event in h.hooks.fired if hook == "start_of_session"] == [False]


def test_session_stash_keeps_falsy_instances(harness: Make) -> None:
    class Seen(list[str]):
        """Empty, and so false, until something was seen."""

    class Collects(Plugin[NoConfig]):
        @hookimpl
        def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            seen = ctx.stash.of(Seen)
            ctx.stash.of(Seen).append("start")
            kept.append(seen)

        @hookimpl
        def end_of_turn(self, ctx: Any, turn: Turn) -> None:
            kept.append(ctx.stash.of(Seen))

    kept: list[Any] = []
    harness(Collects, model=["a"]).send("x")
    assert kept == [["start"], ["start"]]


def test_host_messages_returns_stored_messages_unchanged(harness: Make) -> None:
    h = harness(Careful, model=[["thinking aloud", calls("act", what="a")], "ok"])
    h.send("go")
    stored: list[Message] = h.run(h.plugin(Careful).host.messages("test"))
    assert stored == [replace(m, context="") for m in h.model.last.messages] + [
        Message.assistant("ok")
    ]


# Sub-agents


class Parent(Plugin[NoConfig]):
    """A tool that starts a sub-agent with some of the tools."""

    @tool(main_only=True)
    async def hand_over(self, ctx: Any, tools: list[str] | None = None) -> str:
        """Let a sub-agent work."""
        turn = await self.host.run_turn("work", parent=ctx, tools=tools, system="BE BRIEF")
        return " | ".join([turn.reply, *[r.text for r in turn.tool_calls]])


def test_sub_agent_gets_only_the_given_tools(harness: Make) -> None:
    script = [
        [calls("hand_over", tools=["quick"])],
        [calls("watch"), calls("hand_over")],
        "x",
        "ok",
    ]
    h = harness(Parent, Slow, model=script)
    (result,) = h.send("go").tool_calls
    assert [schema.name for schema in h.model.requests[1].tools] == ["quick"]
    assert result.text.count("Error: unknown tool") == 2
    assert h.model.requests[1].ephemeral == "BE BRIEF"
    assert h.model.requests[1].messages[0].text == "work"


def test_main_turn_tool_is_not_offered_to_sub_agents(harness: Make) -> None:
    h = harness(Parent, Slow, model=[[calls("hand_over")], "x", "ok"])
    h.send("go")
    assert "hand_over" in [schema.name for schema in h.model.requests[0].tools]
    assert "hand_over" not in [schema.name for schema in h.model.requests[1].tools]


def test_sub_agent_session_is_not_listed_as_a_chat(harness: Make) -> None:
    h = harness(Parent, Slow, model=[[calls("hand_over")], "x", "ok", "next"])
    h.send("go", session=None)
    sub = h.model.requests[1].session_id
    assert sub not in h.send("/sessions", session=None).text
    h.send("and?", session=None)
    assert h.model.last.session_id == h.model.requests[0].session_id


def test_sub_agent_session_names_its_parent(harness: Make) -> None:
    h = harness(Parent, Slow, model=[[calls("hand_over")], "x", "ok"])
    h.send("go")
    sessions = {s.id: s for s in h.run(h.plugin(Parent).host.sessions())}
    assert sessions[h.model.requests[1].session_id].kind == "agent"
    assert sessions[h.model.requests[1].session_id].parent_id == "test"


# Asking from inside a plugin


@pytest.mark.parametrize(("mode", "answer"), [("ask", "Red"), ("yes", None), ("no", None)])
def test_plugin_question_reaches_a_person_if_present(
    harness: Make, mode: str, answer: str | None
) -> None:
    class Painter(Plugin[NoConfig]):
        @tool
        async def paint(self, ctx: Any) -> str:
            """Paint."""
            return str(await ctx.ask(Question("Which?", ("Red", "Green"))))

    h = harness(Painter, model=[[calls("paint")], "ok"], answers=["Red"])
    (result,) = h.send("go", approve=mode).tool_calls
    assert result.text == str(answer)


# Text that no encoding knows


def test_tool_result_with_lone_surrogate_does_not_end_the_turn(
    harness: Make, tmp_path: Path
) -> None:
    class Names(Plugin[NoConfig]):
        @tool(read_only=True)
        def names(self) -> str:
            """List names."""
            return "bad\udcff.txt"

    home = tmp_path / "one"
    first = harness(Names, home=home, model=[[calls("names")], "ok"])
    outcome = first.send("go")
    first.close()
    h = harness(Names, home=home, model=["next"])
    h.send("and?")
    gc.collect()  # what asyncio has to say of lost errors is said here, not while pytest reports
    assert_whole(h.model.last.messages)
    assert outcome.text == "ok"


def test_message_with_lone_surrogate_is_answered(harness: Make) -> None:
    h = harness(Careful, model=["ok", "next"])
    assert h.send("half a \ud83d face").text == "ok"
    assert h.send("and?").text == "next"


async def test_message_with_missing_picture_is_answered(harness: Make, tmp_path: Path) -> None:
    gone = Attachment(tmp_path / "gone.png", "image/png", "gone.png", 3, origins=())
    h = harness(Careful, model=["ok"])
    await h.aopen()
    inbound = Inbound("fake", "chat", "user", "m1", "look", attachments=(gone,))
    await h.plugin(Careful).host.receive(inbound)
    assert await h.channel.replies(1, seconds=1)
