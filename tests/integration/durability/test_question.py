"""A pending question survives the process that asked it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.durability.computer import Computer, paired
from support.durability.model_wires import Said, Wire, serving

QUESTION = "Which colour?"
NUMBERED = f"{QUESTION}\n1. red\n2. blue\n3. Other"


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest, computer: Computer) -> Iterator[Wire]:
    """A model that asks before it works, and repeats what it is told."""

    def script(words: str | None) -> Said:
        asks = words == "work"
        return (
            [("pick", {"question": QUESTION, "choices": ["red", "blue"]})] if asks else f"<{words}>"
        )

    with serving(request.param, script) as up:
        computer.env |= up.env
        yield up
        assert up.refused == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    [
        "before-reply",
        *(pytest.param(p, marks=pytest.mark.slow) for p in ("after-tool", "after-send")),
    ],
)
def test_question_is_asked_again_after_a_kill_and_answered_by_number(
    computer: Computer, wire: Wire, point: str
) -> None:
    killed = computer.run("run", "work", "--session", "s", HOOKLINE_CRASH_AT=point)
    assert killed.code == -9
    looked = computer.run("run", "/model", "--session", "s")
    assert looked.code == 0
    assert NUMBERED in looked.err
    assert len(wire.answered) == 1, "the person was to be asked, not the model"
    answered = computer.run("run", "2", "--session", "s")
    assert (answered.code, answered.out) == (0, "<blue>\n")
    assert computer.ran() == ["pick"]
    assert paired(computer.exported("s"))


@pytest.mark.slow
def test_number_answers_a_question_delivered_before_the_kill(
    computer: Computer, wire: Wire
) -> None:
    killed = computer.run("run", "work", "--session", "s", HOOKLINE_CRASH_AT="after-send")
    assert (killed.code, killed.out) == (-9, f"{NUMBERED}\n")
    answered = computer.run("run", "2", "--session", "s")
    assert (answered.code, answered.out) == (0, "<blue>\n")
    later = computer.run("run", "2", "--session", "s")
    assert later.out == "<2>\n", "answered once, it is no longer open"
    assert len(wire.answered) == 3
