"""When a turn makes a review for skills due, and the reviewer's instruction."""

from __future__ import annotations

from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Context, Deny, Plugin, Reviewer, ToolCall, Turn, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_skills import Skills

from .conftest import Bench, Gate, Hands


class Nudge(Plugin[NoConfig]):
    """Asks the reviewers after each turn, and refuses a call made twice."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.due: list[bool] = []
        self._seen: list[object] = []

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        again = call.arguments in self._seen
        self._seen.append(call.arguments)
        return Deny("it was called with the same arguments") if again else None

    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        for _, reviewer in self.host.registered(Reviewer):
            assert reviewer.due is not None
            self.due.append(bool(reviewer.due(ctx)))


def works(good: int, bad: int = 0, twice: int = 0) -> list[ToolCall]:
    """Calls that succeed, fail, and are made again."""
    made = [calls("work", number=n, ok=n < good) for n in range(good + bad)]
    return made + made[:1] * twice


@pytest.mark.parametrize(
    ("asked", "answer", "due"),
    [
        (works(5), "Deployed.", True),
        (works(4), "Deployed.", False),
        (works(10, 2), "Deployed.", True),
        (works(6, 2), "Deployed.", False),
        (works(12, 0, twice=1), "Deployed.", False),
        (works(5), "I'm sorry, I could not deploy it.", False),
        (works(5), "Es tut mir leid, das ging nicht.", False),
        (works(5), "抱歉，我没有完成。", False),
        (works(5), "申し訳ありません。", False),
        (works(5), "Wrote the letter. It begins with: I regret that.", True),
        (works(5), "It is deployed; nobody has to feel sorry any more.", True),
    ],
)
def test_review_is_due_after_successful_work(
    bench: Bench, asked: list[ToolCall], answer: str, due: bool
) -> None:
    bench.harness.close()
    h = bench._make(Gate, Skills, Hands, Nudge, home=bench.home, model=[list(asked), answer])
    h.send("deploy it")
    assert h.plugin(Nudge).due == [due]


def test_no_review_after_an_error_or_in_a_sub_agent(bench: Bench) -> None:
    bench.harness.close()
    model = [works(5), RuntimeError("no"), [*works(5), calls("send_agent")], works(6), "a", "b"]
    h = bench._make(Gate, Skills, Hands, Nudge, home=bench.home, model=model, strict=False)
    h.send("deploy it")
    h.send("deploy it")
    due = h.plugin(Nudge).due
    assert due[0] is False
    assert False in due[1:]


def test_registered_reviewer_has_its_tools_and_instruction(bench: Bench) -> None:
    ((plugin, reviewer),) = bench.skills.host.registered(Reviewer)
    assert (plugin, reviewer.name, reviewer.iterations) == ("skills", "skills", 10)
    assert reviewer.tools == ("skill_view", "skill_manage")
    assert reviewer.instruction.rstrip().endswith("Nothing to save.")
    assert "patch is always better" in reviewer.instruction
