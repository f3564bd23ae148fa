"""``hookline questions``: what is listed, and how an answer reaches the waiting turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline.testing.harness import EveryoneMayAnswer
from hookline_hookspecs import Access, Host, Plugin, hookimpl, tool
from hookline_inspect import Inspect

MakeHarness = Callable[..., Harness]


class Door(Plugin):
    """A tool that asks, and people who may answer."""

    @tool(approval="it is somebody's door")
    def knock(self) -> str:
        """Knock at the door."""
        return "Come in."

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Access, EveryoneMayAnswer())


@pytest.fixture
def waiting(harness: MakeHarness) -> Harness:
    """A parked turn of the network channel, which waits for an approval."""
    h = harness(Inspect, Door, model=[calls("knock"), "They are at home."])

    async def ask() -> None:
        await h.aopen()
        await h.channel.say("Knock")
        await h.channel.replies(1)

    h.run(ask())
    return h


def _listed(h: Harness, options: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(h.cli(f"questions --json {options}").stdout)
    return found


def test_questions_lists_each_open_question_in_full(waiting: Harness) -> None:
    (question,) = _listed(waiting)
    assert question["kind"] == "approval"
    assert question["text"] == "Allow knock? It is somebody's door"
    assert question["choices"] == ["Allow once", "Deny"]
    assert question["chat"].startswith("fake:")
    assert question["origin"].startswith("fake:")
    assert question["state"] == "open"
    assert question["expires"] - question["created"] == pytest.approx(86_400, abs=5)
    assert _listed(waiting, "--kind clarify") == []
    shown = waiting.cli("questions").stdout
    assert all(text in shown for text in (question["id"], question["text"], "1. Allow once"))


def test_answer_continues_the_turn_and_counts_once(waiting: Harness) -> None:
    (question,) = _listed(waiting)
    answered = waiting.cli(f"questions answer {question['id'].lower()} 1")
    assert (answered.exit_code, answered.stdout.split(". ")[0]) == (0, "Answered: Allow once")
    assert f"hookline run --session {question['session']} --resume" in answered.stdout

    async def replies() -> list[str]:
        return [reply.text for reply in await waiting.channel.replies(3)][1:]

    told, answer = waiting.run(replies())
    assert f"({question['id']}) was answered by terminal:" in told
    assert answer == "They are at home."
    late = waiting.cli(f"questions answer {question['id']} Deny")
    assert late.exit_code == 1
    assert "has already answered: Allow once" in late.stderr
    assert _listed(waiting) == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("answer {id} 7", 1, "is not one of the choices"),
        ("answer ABCDEF 1", 1, "`hookline questions` lists"),
        ("answer {id}", 2, "name a question and a choice"),
        ("open", 2, "unknown action"),
        ("--kind riddle", 2, "unknown kind"),
    ],
)
def test_wrong_arguments_change_nothing(
    waiting: Harness, arguments: str, code: int, said: str
) -> None:
    (question,) = _listed(waiting)
    done = waiting.cli("questions " + arguments.format(id=question["id"]))
    assert (done.exit_code, said in done.stderr) == (code, True)
    assert _listed(waiting) == [question]
