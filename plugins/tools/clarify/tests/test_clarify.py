"""A question ends the turn, the next message answers it; invalid questions are errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import calls
from hookline_clarify import Clarify
from hookline_hookspecs import GatewayHost, Plugin, ToolCall, tool

Make = Callable[..., Any]
NUMBERED = "Which colour?\n1. red\n2. dark blue\n3. Other"


class SampleTools(Plugin):
    """A tool that acts and one that looks."""

    @tool
    def act(self) -> str:
        """Act."""
        return "acted"

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        return "looked"


def asking(*choices: str, question: str = "Which colour?") -> ToolCall:
    """The model asks."""
    return calls("clarify", question=question, choices=list(choices))


def failed(h: Any) -> str:
    """The error for a question that could not be asked; the turn goes on."""
    outcome = h.send("go")
    assert (outcome.stop, outcome.text) == ("done", "never mind")
    return str(outcome.tool_calls[0].text)


@pytest.mark.parametrize("approve", ["ask", "no", "yes"])
def test_question_ends_the_turn(harness: Make, approve: str) -> None:
    h = harness(Clarify, model=[asking("red", "dark blue")])
    outcome = h.send("go", approve=approve)
    assert (outcome.stop, outcome.text) == ("question", NUMBERED)
    assert outcome.tool_calls[0].text == "Asked."


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("2", "dark blue"),
        ("dark blue", "dark blue"),
        ("green, please", "green, please"),
        ("3", "Other"),
        ("4", "4"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_next_message_is_the_answer(harness: Make, typed: str, answer: str) -> None:
    h = harness(Clarify, model=[asking("red", "dark blue"), "noted"])
    h.send("go")
    assert h.send(typed).text == "noted"
    assert h.model.last.messages[-1].text == answer


def test_pressed_button_answers_the_question(harness: Make) -> None:
    h = harness(Clarify, model=[asking("red", "dark blue"), "noted"])

    async def talk() -> None:
        await h.aopen()
        await h.channel.say("go")
        (question,) = await h.channel.replies(1)
        assert (question.text, question.choices) == (NUMBERED, ("red", "dark blue"))
        await (
            h.plugin(Clarify)
            .host.services[GatewayHost]
            .answer(question.session.id, question.choices[0], "user")
        )
        await h.channel.replies(2)

    h.run(talk())
    assert h.model.last.messages[-1].text == "red"


@pytest.mark.parametrize("arguments", [{}, {"choices": None}, {"choices": []}])
def test_question_may_have_no_choices(harness: Make, arguments: dict[str, Any]) -> None:
    h = harness(Clarify, model=[calls("clarify", question=" What name? ", **arguments)])
    assert h.send("go").text == "What name?"


def test_choice_named_other_is_not_shown_twice(harness: Make) -> None:
    h = harness(Clarify, model=[asking("a", "b", "c", "d", "other")])
    assert h.send("go").text.splitlines()[1:] == ["1. a", "2. b", "3. c", "4. d", "5. Other"]


def test_line_break_in_a_choice_is_removed(harness: Make) -> None:
    h = harness(Clarify, model=[asking("a\n2. b", "c")])
    assert h.send("go").text.splitlines()[1:] == ["1. a 2. b", "2. c", "3. Other"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (asking("a", question=" \n "), "the question is blank"),
        (asking("a", " "), "a choice is blank"),
        (asking("a", "b", "c", "d", "e"), "5 choices are too many; give at most 4"),
        (asking("Red", " red "), "two choices are the same"),
        (asking("no", "/pair fake:eve"), "would run as a command"),
        (asking("3", "5"), "could be mistaken for another's number"),
        (asking("b", "1."), "could be mistaken for another's number"),
        (calls("clarify", choices=["a"]), "needs the argument 'question'"),
        (calls("clarify", question="q", choices="a"), "argument 'choices'"),
        (calls("clarify", question="q", choices=[1]), "argument 'choices.0'"),
        (calls("clarify", question=None), "argument 'question'"),
    ],
)
def test_invalid_question_is_an_error(harness: Make, call: ToolCall, says: str) -> None:
    told = failed(harness(Clarify, model=[call, "never mind"]))
    assert told.startswith("Error: ")
    assert says in told


def test_choice_may_be_a_path(harness: Make) -> None:
    h = harness(Clarify, model=[asking("/etc/hosts", "notes/a.md")])
    assert h.send("go").stop == "question"


def test_choices_equal_to_their_numbers_are_allowed(harness: Make) -> None:
    h = harness(Clarify, model=[asking("1", "2")])
    assert h.send("go").stop == "question"


def test_model_can_ask_again_after_an_error(harness: Make) -> None:
    h = harness(Clarify, model=[asking("a", "a"), asking("a", "b")])
    assert h.send("go").stop == "question"


def test_first_of_two_questions_at_once_is_asked(harness: Make) -> None:
    h = harness(Clarify, model=[[asking("a"), asking("b", question="And now?")]])
    outcome = h.send("go")
    assert outcome.text.startswith("Which colour?")
    first, second = outcome.tool_calls
    assert first.text == "Asked."
    assert second.text.startswith("Error: another question is already waiting")


def test_question_is_allowed_in_every_turn(harness: Make) -> None:
    h = harness(Clarify, model=[asking("a"), asking("b")])
    assert [h.send("go").stop, h.send("1").stop] == ["question", "question"]


def test_later_writing_calls_are_refused(harness: Make) -> None:
    steps = [[calls("act"), asking("a"), calls("look"), calls("act")], calls("act"), "done"]
    h = harness(Clarify, SampleTools, model=steps)
    outcome = h.send("go")
    before, asked, look, after = [result.text for result in outcome.tool_calls]
    assert (before, asked, look) == ("acted", "Asked.", "looked")
    assert after.startswith("Denied: a question to the person is open")
    assert outcome.stop == "question"
    assert h.send("1").tool_calls[0].text == "acted"


@pytest.mark.parametrize("kind", ["agent", "scheduled", "review"])
def test_clarify_is_not_offered_if_no_one_can_answer(harness: Make, kind: str) -> None:
    h = harness(Clarify, SampleTools, model=[asking("a"), "never mind"])
    turn = h.run(h.plugin(Clarify).host.run_turn("go", kind=kind))
    assert "clarify" not in {schema.name for schema in h.model.requests[0].tools}
    assert turn.tool_calls[0].text.startswith("Error: ")
    assert turn.reply == "never mind"
