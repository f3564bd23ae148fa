"""Keys typed before a question is shown, or just after, never answer it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.usefixtures("asker")
Script = Callable[[str], str]
LIST = "4. Deny"
STEPS = """
  - {when: "^go", delay: 0.6, tools: [{name: launch, arguments: {target: moon}}]}
  - {when: "launched", text: "It flew."}
  - {when: "Denied", text: "It stayed."}
  - {when: "", text: "Heard.", repeat: true}
"""
PIECES = ["1", "\r", "a", "o", "y", "3", "1\r", "Always\r", "yes\r", "\t", " ", "also check "]
PIECES += ["\x1b[A", "\x1b[B", "\x1b[B\r", "\x1b[A\x1b[A\r", "\n", "\x7f", "\x1b[200~1\r\x1b[201~"]


@pytest.mark.slow
def test_typing_during_question_returns_to_input_line(screen: Callable, script: Script) -> None:
    chat = screen("chat", "--model", script(STEPS), answers=False)
    chat.wait_for("›")
    chat.type("go\r")
    chat.wait_for("thinking")
    chat.type("also che")
    chat.wait_for("│ launch moon")
    chat.type("ck the moon 1\r3\r\x1b[A")
    chat.wait_for("also check the moon 1⏎ 3⏎")
    chat.wait_for("stop typing")
    assert LIST not in chat.text
    chat.wait_for(LIST)
    assert "also check the moon" in chat.settle()
    assert "❯" not in chat.text
    chat.type("x 2\r")
    chat.wait_for("3⏎ x 2⏎")
    assert "❯" not in chat.wait_for(LIST)
    chat.type("\x1b[A")
    assert "❯ 4. Deny" in chat.wait_for("❯")
    assert chat.cell("4. Deny").reverse
    chat.type("\x1b")
    chat.wait_for("→ Deny")
    chat.wait_until(lambda: "It stayed." in chat.scrollback, "It stayed.")
    chat.settle()
    for line in ("› also check the moon 1", "  3", "  x 2"):
        assert line in chat.text
    time.sleep(2.2)  # prompt_toolkit would warn after two seconds
    chat.settle()
    assert "WARNING" not in chat.scrollback
    assert b"\x1b[6n" not in chat.raw


@pytest.mark.slow
def test_flood_of_keys_answers_nothing(screen: Callable, script: Script) -> None:
    """More than the terminal and one reading of it hold, from before the question to after it."""
    chat = screen("run", "go", "--model", script(STEPS))
    flood = threading.Thread(target=lambda: [chat.type("1\r\x1b[B\r3\r" * 100) for _ in range(20)])
    flood.start()
    chat.wait_for("│ launch moon")
    chat.wait_for(LIST)
    flood.join()
    assert "→" not in chat.text
    chat.type("\x1b")
    chat.wait_until(lambda: "It stayed." in chat.scrollback, "It stayed.")
    assert chat.end() == 0


def fuzzed(chat: object, seed: int) -> str:
    """Type at random before, at and after the showing, never silent for as long as it takes."""
    chance = random.Random(seed)
    typed = ""
    until = time.monotonic() + 3.5
    while time.monotonic() < until:
        piece = "".join(chance.choice(PIECES) for _ in range(chance.choice([1, 1, 1, 5, 200])))
        chat.type(piece)  # type: ignore[attr-defined]
        typed += piece
        chat.read(chance.choice([0.0, 0.01, 0.05, 0.2, 0.4]))  # type: ignore[attr-defined]
        time.sleep(chance.choice([0.0, 0.01, 0.05, 0.2, 0.4]))
    return typed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_typing_approves_nothing(screen: Callable, script: Script, seed: int) -> None:
    chat = screen("chat", "--model", script(STEPS))
    chat.wait_for("›")
    chat.type("go\r")
    chat.wait_for("│ launch moon")
    fuzzed(chat, seed)
    chat.type("\x15the end of it")
    chat.wait_for(LIST)
    chat.wait_for("the end of it")
    assert "It flew" not in chat.scrollback
    chat.type("\x1b")
    chat.wait_until(lambda: "It stayed." in chat.scrollback, "It stayed.")
    chat.settle()
    assert "the end of it" in chat.text


@pytest.mark.slow
def test_stopped_turn_closes_its_question(screen: Callable, script: Script) -> None:
    steps = STEPS.replace("moon", '"moon, slowly"')
    chat = screen("chat", "--model", script(steps), columns=40)
    chat.wait_for("›")
    chat.type("go\r")
    chat.wait_for(LIST)
    chat.interrupt()
    chat.wait_for("→ closed without an answer")
    chat.settle()
    assert LIST not in chat.text
    chat.type("hello\r")
    chat.wait_for("Heard.")
