"""Modes in the real core: what passes, what asks, what is denied, and who may switch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import CommandError, Context, Modes, Plugin, ToolCall, hookimpl, tool
from hookline_permissions import Permissions
from hookline_sandbox import Found, Method

from .conftest import Hands, Town, say

MakeHarness = Callable[..., Harness]


class Delegating(Plugin):
    """A tool whose work is done by a sub-agent."""

    @tool(read_only=True)
    async def hand_over(self, ctx: Context) -> str:
        """Hand over."""
        turn = await self.host.run_turn("write it", parent=ctx)
        return turn.tool_calls[0].text


def results(h: Harness, text: str = "go", **options: Any) -> list[str]:
    """What the model is told of its calls."""
    return [result.text for result in h.send(text, **options).tool_calls]


def test_auto_lets_calls_pass_and_is_the_default(harness: MakeHarness) -> None:
    h = harness(Permissions, Hands, model=[calls("write"), "done"])
    assert results(h) == ["written"]
    assert not h.questions
    assert h.send("/mode").text.startswith("Mode auto: ")


def test_ask_puts_every_change_before_a_person_as_a_diff(harness: MakeHarness) -> None:
    new = calls("write", path="note.txt", content="new\n")
    step = [calls("look"), new, calls("unknown"), "done"]
    h = harness(Permissions, Hands, model=step, answers=["Allow once", "Deny"])
    (h.workspace).mkdir(parents=True)
    (h.workspace / "note.txt").write_text("old\n")
    assert h.send("/mode ask").text.startswith("Mode ask: ")
    looked, written, refused = results(h)
    assert (looked, written) == ("a page", "written")
    assert refused.startswith(
        "Denied: it may change something, so it needs a yes (mode ask); the person did"
    )
    assert [question.choices for question in h.questions] == [
        ("Allow once", f"Allow every call of {tool} in this session", "Deny")
        for tool in ("write", "unknown")
    ]
    assert "-old\n+new" in h.questions[0].preview


def test_ask_with_nobody_there_denies(harness: MakeHarness) -> None:
    h = harness(
        Permissions, Hands, config={"permissions": {"mode": "ask"}}, model=[calls("write"), "done"]
    )
    (text,) = results(h, approve="no")
    assert text.startswith("Denied: it may change something, so it needs a yes (mode ask)")
    assert "no one can approve it" in text


def test_plan_denies_and_says_it_once_and_ends_in_an_offer(harness: MakeHarness) -> None:
    model = [calls("write"), "1. write it", "2. or so", calls("write"), "done", "more"]
    h = harness(Permissions, Hands, model=model)
    h.send("/mode plan")
    first = h.send("go")
    (result,) = first.tool_calls
    assert result.text.startswith("Denied: plan mode: write may change something")
    assert "/accept" in result.shown
    assert "/accept" in first.notices[-1].text
    h.send("and?")
    requests = h.model.requests
    assert [_block(r).count("Plan mode: until") for r in requests] == [1, 1, 0]
    accepted = h.send("/accept")
    assert accepted.turn.inbound.text == "Carry out the plan."
    assert [one.text for one in accepted.tool_calls] == ["written"]
    h.send("thanks")
    assert [_block(r).count("Plan mode is over") for r in requests[3:]] == [1, 1, 0]
    assert len({r.system for r in requests}) == 1
    assert h.send("/accept").text.startswith("There is no plan to accept")


def _block(request: Any) -> str:
    return " ".join(block.text for block in request.context)


def test_an_accepted_plan_goes_back_to_the_mode_from_before(harness: MakeHarness) -> None:
    h = harness(
        Permissions, Hands, model=["the plan", calls("write"), "done"], answers=["Allow once"]
    )
    for command in ("/mode ask", "/mode plan"):
        h.send(command)
    h.send("go")
    assert results(h, "Accept the plan.") == ["written"]
    assert len(h.questions) == 1


def test_the_words_of_the_choice_are_a_message_outside_of_plan_mode(harness: MakeHarness) -> None:
    h = harness(Permissions, Hands, model=["Which plan?"])
    assert h.send("Accept the plan").text == "Which plan?"


@pytest.mark.parametrize(
    ("mode", "reason"), [("ask", "it may change something"), ("plan", "plan mode: ")]
)
def test_a_sub_agent_shares_the_mode_even_as_it_changes(
    harness: MakeHarness, mode: str, reason: str
) -> None:
    model = [calls("hand_over"), calls("write"), "report", "done"]
    h = harness(Permissions, Hands, Delegating, model=model, answers=["Deny"])
    h.send(f"/mode {mode}")
    (text,) = results(h)
    assert text.startswith(f"Denied: {reason}")
    assert bool(h.questions) == (mode == "ask")


def test_a_mode_is_kept_with_its_session_over_a_restart(harness: MakeHarness) -> None:
    first = harness(Permissions, Hands, model=["hi"])
    first.send("hello")
    first.send("/mode plan")
    first.close()
    second = harness(
        Permissions, Hands, home=first.home, model=[calls("write"), "x", calls("write"), "y"]
    )
    assert results(second)[0].startswith("Denied: plan mode: ")
    assert results(second, session="other") == ["written"]


def test_a_mode_that_another_process_stored_is_enforced(harness: MakeHarness) -> None:
    one = harness(Permissions, Hands, model=["hi", calls("write"), "done"])
    one.send("hello")
    other = harness(Permissions, Hands, home=one.home)
    other.send("/mode plan")
    assert results(one)[0].startswith("Denied: plan mode: ")


def test_the_next_session_of_a_chat_goes_on_in_the_same_mode(harness: MakeHarness) -> None:
    h = harness(Permissions, Hands, model=["hi", calls("write"), "x"])
    h.send("hello", session=None)
    h.send("/mode plan", session=None)
    h.send("/new", session=None)
    assert results(h, session=None)[0].startswith("Denied: plan mode: ")


def test_what_is_no_mode_is_refused_with_a_sentence(harness: MakeHarness) -> None:
    h = harness(Permissions, model=[])
    assert "hookline chat --mode yolo" in h.send("/mode yolo").text
    assert h.send("/mode fast").text == "There is no mode 'fast'; choose ask, auto or plan."
    strict = harness(Permissions, config={"mode": "yolo"}, strict=False, model=[])
    state, reason = strict.states()["permissions"]
    assert (state, "--mode yolo" in reason) == ("failed", True)


@pytest.fixture
def sandboxed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Says whether a sandbox works here."""

    def make(works: bool) -> None:
        here = Found(Method.BUBBLEWRAP if works else Method.NONE, "there is no bwrap", "install it")
        monkeypatch.setattr("hookline_sandbox.found", lambda: here)

    return make


def test_yolo_needs_a_sandbox(harness: MakeHarness, sandboxed: Callable[[bool], None]) -> None:
    sandboxed(False)
    h = harness(Permissions)
    with pytest.raises(CommandError) as refused:
        h.run(h.runtime.engine.services[Modes].set("test", "yolo"))
    assert "there is no bwrap; install it" in refused.value.text


@pytest.mark.parametrize(
    ("kind", "reads", "passes"),
    [
        ("write", False, True),
        ("send", False, True),
        ("configure", False, False),
        ("write", True, True),
        ("send", True, False),
        ("learn", True, False),
    ],
)
def test_yolo_answers_for_what_stays_inside(
    harness: MakeHarness, sandboxed: Callable[[bool], None], kind: str, reads: bool, passes: bool
) -> None:
    sandboxed(True)

    class Guard(Plugin):
        @hookimpl
        def pre_tool(self, ctx: Context, call: ToolCall) -> Any:
            from hookline_hookspecs import Ask

            return Ask("it is risky") if call.name == "write" else None

    model = (
        [calls("look"), calls("write", kind=kind), "done"]
        if reads
        else [calls("write", kind=kind), "done"]
    )
    h = harness(Permissions, Hands, Guard, model=model)
    h.run(h.runtime.engine.services[Modes].set("test", "yolo"))
    text = results(h, approve="no")[-1]
    assert (text == "written") is passes
    again = harness(Permissions, home=h.home)
    assert again.send("/mode").text.startswith("Mode auto: ")


def test_only_an_admin_makes_a_group_freer(harness: MakeHarness) -> None:
    h = harness(Permissions, Hands, Town, model=["hi", "the plan", "carried out"])
    count = [0]
    assert say(h, "guest", "hello", "group", count) == "hi"
    assert say(h, "guest", "/mode plan", "group", count).startswith("Mode plan: ")
    plan = say(h, "guest", "go", "group", count)
    assert plan.startswith("the plan\n\n/accept carries the plan out")
    assert h.channel.sent[-1].choices == ("Accept the plan", "Keep planning")
    assert say(h, "guest", "/mode auto", "group", count).startswith("Only an admin")
    assert say(h, "guest", "Accept the plan", "group", count).startswith("Only an admin")
    assert say(h, "admin", "Accept the plan", "group", count) == "carried out"


def test_a_mode_chosen_before_the_first_message_holds(harness: MakeHarness) -> None:
    h = harness(Permissions, Hands, Town)
    assert say(h, "guest", "/mode plan", "guest", [0]).startswith("Mode plan: ")
    h.close()
    later = harness(Permissions, Hands, Town, home=h.home, model=[calls("write"), "the plan"])
    assert say(later, "guest", "go", "guest", [0]).startswith("the plan")
    assert "Plan mode: until" in _block(later.model.requests[0])


def test_alone_in_a_chat_anybody_goes_back_to_the_default(harness: MakeHarness) -> None:
    h = harness(Permissions, Hands, Town, config={"permissions": {"mode": "ask"}}, model=["hi"])
    count = [0]
    assert say(h, "guest", "/mode plan", "guest", count).startswith("Mode plan: ")
    assert say(h, "guest", "/mode auto", "guest", count).startswith("Only an admin")
    assert say(h, "guest", "/mode ask", "guest", count).startswith("Mode ask: ")
    assert say(h, "admin", "/mode auto", "admin", count).startswith("Mode auto: ")


class Working(Plugin):
    """Work that begins by itself, as a scheduled job does."""

    async def job(self) -> str:
        turn = await self.host.run_turn("write it", kind="schedule")
        return turn.tool_calls[0].text


@pytest.mark.parametrize("spoken", [True, False])
def test_work_that_begins_by_itself_shares_the_mode_of_the_terminal(
    harness: MakeHarness, spoken: bool
) -> None:
    h = harness(Permissions, Hands, Working)
    if spoken:
        h.model.steps.append("hi")
        h.send("hello")
    h.send("/mode plan", session="test" if spoken else None)
    h.model.steps += [calls("write"), "done"]
    assert h.run(h.plugin(Working).job()).startswith("Denied: plan mode: ")
    h.send("/mode auto", session="test" if spoken else None)
    h.model.steps += [calls("write"), "done"]
    assert h.run(h.plugin(Working).job()) == "written"
