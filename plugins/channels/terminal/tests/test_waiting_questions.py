"""Questions that are answered elsewhere, or after their terminal was closed."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from typing import Any

import pytest

from .test_approvals import KEYS, PROMPT, launch

pytestmark = [pytest.mark.usefixtures("asker"), pytest.mark.slow]
Script = Callable[[str], str]
BY = f"terminal:{getpass.getuser()}"


class Waiting:
    """A chat whose turn asks, and the question as ``hookline questions`` lists it."""

    def __init__(self, terminal: Callable[..., Any], piped: Callable[..., Any], model: str) -> None:
        self._piped, self._model = piped, ("--model", model)
        self._terminal = terminal
        self.chat = self.start("chat")
        self.chat.wait_for(PROMPT)
        self.chat.type("go\r")
        self.chat.wait_for(KEYS)
        self.question = self.open()[0]

    def start(self, *arguments: str) -> Any:
        return self._terminal(*arguments, *self._model)

    def open(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._piped("questions", "--json").stdout)
        return found

    def answer(self, choice: str) -> Any:
        return self._piped("questions", "answer", self.question["id"], choice)

    def run(self, *arguments: str) -> Any:
        session = ("--session", self.question["session"])
        return self._piped("run", *session, *arguments, *self._model)


@pytest.fixture
def waiting(terminal: Callable[..., Any], piped: Callable[..., Any], script: Script) -> Waiting:
    return Waiting(terminal, piped, script(launch()))


def test_prompt_disappears_when_it_is_answered_elsewhere(waiting: Waiting) -> None:
    assert waiting.answer("1").returncode == 0
    waiting.chat.wait_for(f"→ answered by {BY}: Allow once")
    waiting.chat.wait_for("It flew.")
    late = waiting.answer("4")
    assert late.returncode == 1
    assert f"{BY} has already answered: Allow once." in late.stderr


def test_question_of_killed_terminal_is_asked_again(waiting: Waiting) -> None:
    waiting.chat.kill()
    chat = waiting.start("chat", "--continue")
    chat.wait_for("│ launch moon")
    chat.wait_for(KEYS)
    assert waiting.open() == [waiting.question]
    chat.type("1\r")
    chat.wait_for("It flew.")
    assert waiting.open() == []


def test_turn_of_killed_terminal_continues_after_answer(waiting: Waiting) -> None:
    waiting.chat.kill()
    printed = waiting.run("hello")
    assert (printed.returncode, waiting.question["text"] in printed.stdout) == (0, True)
    stopped = json.loads(waiting.run("hello", "--json").stdout.splitlines()[-1])
    assert (stopped["type"], stopped["stop"]) == ("result", "question")
    answered = waiting.answer("Allow once")
    assert f"hookline run --session {waiting.question['session']} --resume" in answered.stdout
    assert waiting.run("--resume").stdout == "It flew.\n"


def test_chat_continues_turn_that_was_answered_meanwhile(waiting: Waiting) -> None:
    waiting.chat.kill()
    waiting.answer("Deny not today")
    chat = waiting.start("chat", "--continue")
    chat.wait_for("It stayed.")
    assert "Allow once" not in chat.text


def test_shift_tab_changes_mode_while_a_question_is_open(waiting: Waiting) -> None:
    waiting.chat.type("\x1b[Z")
    waiting.chat.wait_for("Mode plan")
    waiting.chat.wait_for(KEYS)
    waiting.chat.type("1\r")
    waiting.chat.wait_for("It flew.")
