"""Sub-agents through the tool ``delegate``: their context, limits and report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hookline.testing import ScriptedModel, calls
from hookline_delegate import Delegate
from hookline_hookspecs import (
    Ask,
    Deny,
    Inbound,
    ModelRequest,
    NetworkError,
    Plugin,
    ToolCall,
    ToolResult,
    ToolSchema,
    hookimpl,
    tool,
)
from hypothesis import given
from hypothesis import strategies as st

Make = Callable[..., Any]


class SampleTools(Plugin):
    """Tools, one of which talks to people."""

    now = 0
    most = 0
    waiting = 0
    entered: asyncio.Event
    go_on: asyncio.Event

    @hookimpl
    def setup(self, host: Any) -> None:
        self.entered, self.go_on = asyncio.Event(), asyncio.Event()

    @tool
    def touch(self, name: str) -> str:
        """Make a file."""
        return f"made {name}"

    @tool(read_only=True)
    async def look(self) -> str:
        """Look, and tell how many look."""
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(20):
            await asyncio.sleep(0)
        await asyncio.sleep(0.02)
        self.now -= 1
        return "seen"

    @tool
    async def wait(self) -> str:
        """Wait until let go."""
        self.waiting += 1
        if self.waiting == 2:
            self.entered.set()
        await self.go_on.wait()
        return "waited"

    @tool(main_only=True)
    def tell(self, text: str) -> str:
        """Tell the person."""
        return "told"


class Script(ScriptedModel):
    """A model with a list of steps for each first word of its task."""

    def __init__(self, **scripts: list[Any]) -> None:
        super().__init__()
        self._scripts = {name: list(steps) for name, steps in scripts.items()}

    async def send(self, wire: Any, on_delta: Any) -> Any:
        request = wire.stable.request
        word = request.messages[0].text.split()[0]
        steps = self._scripts[word]
        done = sum(message.role == "assistant" for message in request.messages)
        self.steps = [steps[min(done, len(steps) - 1)]]
        return await super().send(wire, on_delta)

    def sent(self, word: str) -> list[ModelRequest]:
        """The requests of the turns that began with ``word``."""
        return [r for r in self.requests if r.messages[0].text.split()[0] == word]


def results(h: Any, text: str = "go", **options: Any) -> list[ToolResult]:
    """The results of a turn's calls."""
    return list(h.send(text, **options).tool_calls)


def test_parent_gets_the_report(harness: Make) -> None:
    model = Script(go=[calls("delegate", task="count files"), "so"], count=["There are 7."])
    h = harness(Delegate, SampleTools, model=model)
    outcome = h.send("go")
    assert outcome.text == "so"
    assert outcome.tool_calls[0].text == "There are 7."
    assert outcome.tool_calls[0].data["usage"]["output"] == 5


def test_sub_agent_starts_with_a_fresh_context(harness: Make) -> None:
    steps = [calls("delegate", task="count files", context=" in /srv "), "so"]
    h = harness(Delegate, SampleTools, model=Script(go=steps, count=["7"]))
    h.send("go and mind the secret")
    (request,) = h.model.sent("count")
    assert [m.text for m in request.messages] == ["count files\n\nWhat you need to know:\nin /srv"]
    assert "sub-agent" in request.ephemeral
    assert "secret" not in str(request)


def test_sub_agent_has_no_delegate_and_no_tools_that_reach_people(harness: Make) -> None:
    h = harness(
        Delegate, SampleTools, model=Script(go=[calls("delegate", task="x"), "so"], x=["7"])
    )
    h.send("go")
    assert {t.name for t in h.model.sent("go")[0].tools} == {
        *("delegate", "touch", "look", "wait", "tell")
    }
    assert {t.name for t in h.model.sent("x")[0].tools} == {"touch", "look", "wait"}


@pytest.mark.parametrize("name", ["delegate", "tell"])
def test_sub_agent_cannot_call_a_tool_it_was_not_given(harness: Make, name: str) -> None:
    model = Script(
        go=[calls("delegate", task="x"), "so"],
        x=[calls(name, task="y", text="y"), lambda r: r.messages[-1].blocks[0].text],
    )
    h = harness(Delegate, SampleTools, model=model)
    assert results(h)[0].text.startswith(f"Error: unknown tool '{name}'")


class Injector(Plugin):
    """Adds a tool to whatever is sent, as late as it can."""

    @hookimpl(trylast=True)
    def pre_model(self, ctx: Any, request: ModelRequest) -> ModelRequest:
        extra = [ToolSchema("tell", "Tell.", {"type": "object", "properties": {}})]
        extra.append(ToolSchema("touch", "Touch.", {"type": "object", "properties": {}}))
        return replace(request, tools=(*request.tools, *extra))


@pytest.mark.parametrize("given", [["look"], []])
def test_tool_added_by_a_plugin_is_removed_for_a_sub_agent(harness: Make, given: list[str]) -> None:
    model = Script(
        go=[calls("delegate", task="x", tools=given), "so"],
        x=[calls("tell", text="hi"), lambda r: r.messages[-1].blocks[0].text],
    )
    h = harness(Injector, SampleTools, Delegate, model=model)
    assert results(h)[0].text.startswith("Error: unknown tool 'tell'")
    assert [t.name for t in h.model.sent("x")[0].tools] == given


@pytest.mark.parametrize("name", ["delegate", "tell", "nothing", ""])
def test_requesting_a_forbidden_tool_is_an_error(harness: Make, name: str) -> None:
    steps = [calls("delegate", task="x", tools=["look", name]), "so"]
    h = harness(Delegate, SampleTools, model=Script(go=steps))
    assert results(h)[0].text == (
        f"Error: a sub-agent has no tool {name}; it can have: look, touch, wait"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"task": " \n"},
        {"task": 7},
        {"task": "x", "tools": "look"},
        {"task": "x", "context": {}},
        {"task": "x", "depth": 2},
    ],
)
def test_wrong_arguments_are_an_error(harness: Make, arguments: dict[str, Any]) -> None:
    model = Script(go=[ToolCall("", "delegate", arguments), "so"])
    assert results(harness(Delegate, model=model))[0].text.startswith("Error: ")


def looking(count: int) -> Script:
    """A turn that sends ``count`` sub-agents at once, each of which looks."""
    tasks = [calls("delegate", task=f"look {n}") for n in range(count)]
    return Script(go=[tasks, "so"], look=[calls("look"), "done"])


def test_three_sub_agents_run_in_parallel(harness: Make) -> None:
    h = harness(Delegate, SampleTools, model=looking(7))
    assert [result.text for result in results(h)] == ["done"] * 7
    assert h.plugin(SampleTools).most == 3


def test_parallel_limits_concurrent_sub_agents(harness: Make) -> None:
    h = harness(Delegate, SampleTools, model=looking(3), config={"delegate": {"parallel": 1}})
    results(h)
    assert h.plugin(SampleTools).most == 1


class Guard(Plugin):
    """Refuses one file and asks about another."""

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Deny | Ask | None:
        verdicts = {"secret": Deny("not that one"), "odd": Ask("it is odd")}
        return verdicts.get(call.arguments.get("name", ""))


def touching(name: str) -> Script:
    """A turn whose sub-agent makes a file and reports the result word for word."""
    return Script(
        go=[calls("delegate", task="x"), "so"],
        x=[calls("touch", name=name), lambda r: r.messages[-1].blocks[0].text],
    )


def test_guard_sees_calls_of_a_sub_agent(harness: Make) -> None:
    h = harness(Guard, Delegate, SampleTools, model=touching("secret"))
    assert results(h)[0].text == "Denied: not that one"
    assert [call.event.name for call in h.hooks["pre_tool"]] == ["delegate", "touch"]


@pytest.mark.parametrize(
    ("approve", "text"),
    [("yes", "made odd"), ("ask", "made odd"), ("no", "Denied: it is odd; no one can approve it")],
)
def test_calls_of_a_sub_agent_need_approval(harness: Make, approve: str, text: str) -> None:
    h = harness(Guard, Delegate, SampleTools, model=touching("odd"), answers=["Allow once"])
    assert results(h, approve=approve)[0].text.startswith(text)


class Hesitant(Plugin):
    """A person who answers after both sub-agents have asked."""

    @hookimpl
    async def on_question(self, ctx: Any, question: Any) -> str:
        await asyncio.sleep(0.5)
        return "Allow once"


def test_identical_calls_of_two_sub_agents_ask_once_at_a_terminal(harness: Make) -> None:
    tasks = [calls("delegate", task="x 1"), calls("delegate", task="x 2")]
    model = Script(
        go=[tasks, "so"], x=[calls("touch", name="odd"), lambda r: r.messages[-1].blocks[0].text]
    )
    h = harness(Guard, Delegate, Hesitant, SampleTools, model=model)
    assert [result.text for result in results(h, approve="ask")] == ["made odd"] * 2
    assert len(h.hooks["on_question"]) == 1


def test_long_report_is_cut_in_the_middle(harness: Make) -> None:
    reply = "BEGIN" + "x" * 50_000 + "END"
    h = harness(Delegate, model=Script(go=[calls("delegate", task="x"), "so"], x=[reply]))
    text = results(h)[0].text
    assert len(text) <= 24_000
    assert text.startswith("BEGIN")
    assert text.endswith("END")
    assert "characters of the report left out" in text


@pytest.mark.slow
@given(st.integers(23_900, 200_000))
def test_report_is_never_longer_than_the_limit(length: int) -> None:
    from hookline_delegate.report import report

    text = "".join(chr(65 + n % 26) for n in range(length))
    shown = report(text)
    assert len(shown) <= 24_000
    assert (shown == text) == (length <= 24_000)


def test_model_error_of_a_sub_agent_fails_the_call(harness: Make) -> None:
    model = Script(go=[calls("delegate", task="x"), "so"], x=[NetworkError("the line is down")])
    outcome = harness(Delegate, model=model).send("go")
    assert outcome.tool_calls[0].text == (
        "Error: the sub-agent did not finish (error): the line is down"
    )
    assert (outcome.stop, outcome.text) == ("done", "so")


def test_failing_sub_agent_leaves_the_others_alone(harness: Make) -> None:
    tasks = [calls("delegate", task="x"), calls("delegate", task="y")]
    model = Script(go=[tasks, "so"], x=[NetworkError("no")], y=["fine"])
    assert [result.ok for result in results(harness(Delegate, model=model))] == [False, True]


def test_last_model_call_allows_no_tools(harness: Make) -> None:
    model = Script(
        go=[calls("delegate", task="x"), "so"], x=[calls("look"), calls("look"), "what I have"]
    )
    h = harness(Delegate, SampleTools, model=model, config={"delegate": {"max_iterations": 3}})
    assert results(h)[0].text == (
        "what I have\n\nNote: it used all of its 3 model calls; the work may be unfinished"
    )
    choices = [request.params.get("tool_choice") for request in h.model.sent("x")]
    assert choices == [None, None, "none"]


def test_sub_agent_that_uses_all_its_calls_is_stopped(harness: Make) -> None:
    model = Script(go=[calls("delegate", task="x"), "so"], x=[calls("look")])
    h = harness(Delegate, SampleTools, model=model, config={"delegate": {"max_iterations": 3}})
    text = results(h)[0].text
    assert text.startswith(
        "Error: the sub-agent was stopped because it used all of its 3 model calls"
    )
    assert len(h.model.sent("x")) <= 4


def test_sub_agent_that_takes_too_long_is_stopped(harness: Make) -> None:
    model = Script(go=[calls("delegate", task="x"), "so"], x=[calls("wait")])
    h = harness(Delegate, SampleTools, model=model, config={"delegate": {"timeout": 0.05}})
    outcome = h.send("go")
    assert outcome.tool_calls[0].text.startswith("Error: the sub-agent was stopped after 0.05 s")
    assert outcome.text == "so"


def waiting() -> Script:
    """A turn whose two sub-agents wait for good."""
    tasks = [calls("delegate", task="x 1"), calls("delegate", task="x 2")]
    return Script(go=[tasks, "so"], x=[calls("wait"), "done"])


async def _until_waiting(h: Any) -> asyncio.Task[Any]:
    await h.aopen()
    task = asyncio.ensure_future(h.asend("go"))
    await h.plugin(SampleTools).entered.wait()
    return task


def test_sub_agent_stops_with_its_parent_turn(harness: Make) -> None:
    h = harness(Delegate, SampleTools, model=waiting())

    async def stopped() -> Any:
        task = await _until_waiting(h)
        assert await h.runtime.dispatcher.stop(
            Inbound("terminal", "", "", "", "", session_id="test")
        )
        return await task

    outcome = h.run(stopped())
    assert outcome.stop == "stopped"
    assert [r.text.partition(":")[0] for r in outcome.tool_calls] == ["Interrupted"] * 2
    assert len(h.model.sent("x")) == 2, "none of them asked its model again"
    assert h.run(h.plugin(Delegate).host.storage.kv.keys()) == []


def test_sub_agent_interrupted_by_a_crash_goes_on_without_its_call(
    harness: Make, tmp_path: Any
) -> None:
    home = tmp_path / "home"
    h = harness(Delegate, SampleTools, model=waiting(), home=home)

    async def killed() -> None:
        await h.aopen()
        await h.channel.say("go")
        await h.plugin(SampleTools).entered.wait()
        await h.aclose()

    h.run(killed())
    model = Script(go=["so"], x=[lambda r: r.messages[-1].blocks[0].text])
    again = harness(Delegate, SampleTools, model=model, home=home)

    async def taken_up() -> list[str]:
        runtime = await again.aopen()
        await runtime.gateway_host.recover()
        return [reply.text for reply in await again.channel.replies(1)]

    assert again.run(taken_up()) == ["so"]
    reports = [block.text for block in model.sent("go")[-1].messages[-1].blocks]
    assert [text.partition(":")[0] for text in reports] == ["Interrupted"] * 2
    assert again.plugin(SampleTools).waiting == 0, "a call that had begun is not repeated"
    assert all("sub-agent" in request.ephemeral for request in model.sent("x"))
    assert again.run(again.plugin(Delegate).host.storage.kv.keys()) == []


def test_same_task_twice_at_once_is_run_once(harness: Make) -> None:
    tasks = [calls("delegate", task="look"), calls("delegate", task="look")]
    model = Script(go=[tasks, calls("delegate", task="look"), "so"], look=[calls("look"), "done"])
    texts = [result.text for result in results(harness(Delegate, SampleTools, model=model))]
    assert texts[0] == texts[2] == "done"
    assert texts[1].startswith("Error: a sub-agent is already working on this task")
