"""Where a plugin further inside asks: what is granted, to whom, for which call, for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_approvals import Approvals
from hookline_hookspecs import Ask, Deny, Inbound, Plugin, ToolCall, hookimpl, tool

Make = Callable[..., Any]


class Launcher(Plugin):
    """A tool that a guard asks about."""

    @tool
    def launch(self, target: str, speed: float = 1.0) -> str:
        """Launch something."""
        return f"launched {target}"

    @hookimpl
    def pre_tool(self, ctx: Any, call: ToolCall) -> Ask | Deny | None:
        if call.name != "launch":
            return None
        if call.arguments["target"] == "sun":
            return Deny("too hot")
        return Ask("`launch` cannot be undone", f"launch {call.arguments['target']}")


def launching(*targets: str) -> list[Any]:
    """A turn for each target, which launches it."""
    return [step for target in targets for step in (calls("launch", target=target), "ok")]


def outcomes(h: Any, turns: int, **options: Any) -> list[bool]:
    """Whether each turn's call was allowed."""
    return [h.send("go", **options).tool_calls[0].ok for _ in range(turns)]


@pytest.mark.parametrize(
    ("choice", "asked"),
    [("Allow once", 2), ("Allow in this session", 1), ("Allow always", 1), ("Deny", 2)],
)
def test_a_choice_is_remembered_as_far_as_it_goes(harness: Make, choice: str, asked: int) -> None:
    h = harness(Approvals, Launcher, model=launching("moon", "moon"), answers=[choice] * 2)
    assert outcomes(h, 2) == [choice != "Deny"] * 2
    assert len(h.questions) == asked


@pytest.mark.parametrize("answer", ["yes", "once", "ALWAYS", ""])
def test_an_answer_that_is_no_choice_is_a_refusal(harness: Make, answer: str) -> None:
    h = harness(Approvals, Launcher, model=launching("moon"), answers=[answer])
    assert outcomes(h, 1) == [False]


@pytest.mark.parametrize(("choice", "asked"), [("Allow in this session", 2), ("Allow always", 1)])
def test_another_session_has_only_what_is_always(harness: Make, choice: str, asked: int) -> None:
    h = harness(Approvals, Launcher, model=launching("moon", "moon"), answers=[choice] * 2)
    h.send("go", session="one")
    h.send("go", session="two")
    assert len(h.questions) == asked


def test_what_was_granted_for_the_session_ends_with_it(harness: Make) -> None:
    h = harness(
        Approvals, Launcher, model=launching("moon", "moon"), answers=["Allow in this session"]
    )
    assert outcomes(h, 1) == [True]
    h.send("/new")
    assert "No grants" in h.send("/grants").text
    assert outcomes(h, 1) == [False]
    assert len(h.questions) == 2


def test_grants_outlive_the_process(harness: Make, tmp_path: Any) -> None:
    for number, choice in enumerate(["Allow always", "Allow in this session"]):
        home = tmp_path / str(number)
        first = harness(Approvals, Launcher, model=launching("moon"), answers=[choice], home=home)
        first.send("go")
        first.close()
        again = harness(Approvals, Launcher, model=launching("moon"), home=home)
        assert outcomes(again, 1) == [True]
        assert again.questions == []


def test_a_changed_argument_asks_again(harness: Make) -> None:
    model = [
        [calls("launch", target="moon"), calls("launch", target="mars")],
        [calls("launch", target="moon", speed=2.0), calls("launch", target="moon ")],
        calls("launch", target="moon"),
        "ok",
    ]
    h = harness(Approvals, Launcher, model=model, answers=["Allow always", "Deny", "Deny", "Deny"])
    results = h.send("go").tool_calls
    assert [result.ok for result in results] == [True, False, False, False, True]
    assert len(h.questions) == 4


def test_another_workspace_asks_again(harness: Make, tmp_path: Any) -> None:
    home = tmp_path / "home"
    for name in ("here", "there"):
        h = harness(
            Approvals,
            Launcher,
            model=launching("moon"),
            answers=["Allow always"],
            home=home,
            workspace=tmp_path / name,
        )
        assert outcomes(h, 1) == [True]
        assert len(h.questions) == 1
        h.close()


def test_a_grant_is_for_one_person_in_one_chat(harness: Make) -> None:
    h = harness(Approvals, Launcher, model=launching(*["moon"] * 4), answers=["Allow always"] * 3)

    async def talk() -> None:
        await h.aopen()
        people = [("a", "ann"), ("a", "bob"), ("b", "ann"), ("a", "ann")]
        for number, (chat, user) in enumerate(people):
            await h.channel.say("go", chat=chat, user=user)
            await h.channel.replies(number + 1)

    h.run(talk())
    assert len(h.questions) == 3


def test_a_grant_never_overrules_a_denial(harness: Make) -> None:
    h = harness(Approvals, Launcher, model=launching("sun"), answers=["Allow always"])
    assert h.send("go").tool_calls[0].text == "Denied: too hot"
    assert h.questions == []


def test_without_a_person_nothing_is_asked_and_the_model_is_told(harness: Make) -> None:
    h = harness(Approvals, Launcher, model=launching("moon"), answers=["Allow always"])
    text = h.send("go", approve="no").tool_calls[0].text
    assert text.startswith("Denied: ")
    assert "no one can approve it" in text


def test_a_grant_holds_when_its_person_is_not_there(harness: Make) -> None:
    h = harness(Approvals, Launcher, model=launching("moon", "moon"), answers=["Allow always"])
    assert outcomes(h, 1) == [True]
    assert outcomes(h, 1, approve="no") == [True]


def test_scheduled_work_has_nobody_and_no_grants(harness: Make) -> None:
    h = harness(Approvals, Launcher, model=launching("moon", "moon"), answers=["Allow always"])
    outcomes(h, 1)
    turn = h.run(h.plugin(Approvals).host.run_turn("go", kind="scheduled"))
    assert [result.ok for result in turn.tool_calls] == [False]


class Silent(Plugin):
    """Asks somewhere and never hears an answer."""

    asked = 0
    gave_up = 0

    @hookimpl
    async def on_question(self, ctx: Any, question: Any) -> str | None:
        self.asked += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.gave_up += 1
            raise
        return None


def test_stopping_the_turn_takes_the_question_back(harness: Make) -> None:
    h = harness(Approvals, Silent, Launcher, model=launching("void"))

    async def stopped() -> Any:
        runtime = await h.aopen()
        task = asyncio.ensure_future(h.asend("go"))
        while not h.plugin(Silent).asked:
            await asyncio.sleep(0.01)
        here = Inbound("terminal", "default", "", "", "", session_id="test")
        assert await runtime.dispatcher.stop(here)
        return await task

    assert h.run(stopped()).stop == "stopped"
    assert h.plugin(Silent).gave_up == 1
    assert h.send("/approve").text == "No approval is waiting in this chat."
    assert h.send("/questions").text == "No question is open."


def test_command_answers_while_a_plugin_asks(harness: Make) -> None:
    h = harness(Approvals, Silent, Launcher, model=launching("void"))

    async def answered() -> Any:
        await h.aopen()
        task = asyncio.ensure_future(h.asend("go"))
        while not h.plugin(Silent).asked:
            await asyncio.sleep(0.01)
        assert (await h.asend("/approve")).text == "Answered: Allow once."
        return await task

    assert h.run(answered()).tool_calls[0].ok
    assert h.plugin(Silent).gave_up == 1


class Sender(Plugin):
    """Sends a sub-agent."""

    @tool(main_only=True)
    async def send_agent(self, ctx: Any) -> str:
        """Send a sub-agent."""
        return (await self.host.run_turn("work", parent=ctx)).reply


def test_a_sub_agent_asks_in_its_persons_name(harness: Make) -> None:
    model = [calls("send_agent"), *launching("moon"), "done", *launching("moon")]
    h = harness(Approvals, Launcher, Sender, model=model, answers=["Allow in this session"])
    h.send("go")
    assert outcomes(h, 1) == [True]
    assert len(h.questions) == 1


def test_other_questions_are_left_to_others(harness: Make) -> None:
    class Chooser(Plugin):
        @tool
        async def choose(self, ctx: Any) -> str:
            """Let a person choose."""
            from hookline_hookspecs import Question

            return str(await ctx.ask(Question("Which?", ("a", "b"))))

    h = harness(Approvals, Chooser, model=[calls("choose"), "ok"], answers=["b"])
    assert h.send("go").tool_calls[0].text == "b"


# The list of grants


def test_grants_are_listed_and_revoked(harness: Make) -> None:
    h = harness(
        Approvals,
        Launcher,
        model=launching("moon", "mars", "moon"),
        answers=["Allow always", "Allow in this session"],
    )
    outcomes(h, 2)
    lines = h.send("/grants").text.splitlines()
    assert lines[1].startswith("1. launch · Allow always · terminal:tester · ")
    assert lines[1].endswith("launch moon")
    assert lines[2].startswith("2. launch · Allow in this session · ")
    assert h.send("/grants revoke 1").text.startswith("Grant 1 is revoked")
    assert "launch moon" not in h.send("/grants").text
    assert outcomes(h, 1) == [False]


@pytest.mark.parametrize("args", ["revoke", "revoke x", "revoke -1", "forget 1", "revoke ²", "1"])
def test_what_grants_does_not_understand_it_says(harness: Make, args: str) -> None:
    assert "/grants revoke" in harness(Approvals).send(f"/grants {args}").text


def test_a_grant_that_is_not_there_cannot_be_revoked(harness: Make) -> None:
    assert "Grant 7 not found" in harness(Approvals).send("/grants revoke 7").text
