"""Notifications of a terminal without the focus; its reports are neither input nor answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.terminal import TerminalScreen

from .conftest import HOOKLINE

FOCUS_IN, FOCUS_OUT = "\x1b[I", "\x1b[O"
WAITING = "\x1b]2;● waiting\x1b\\".encode()
POPPED = b"\x1b]2;\x1b\\\x1b[23;2t"
BELL, DESKTOP = b"\a", b"\x1b]9;Hookline"
STEPS = [
    {"when": "^go", "tools": [{"name": "launch", "arguments": {"target": "moon"}}], "delay": 1.0},
    {"when": "launched", "text": "It flew."},
    {"when": "Denied", "text": "It stayed."},
    {"when": "^slow", "text": "At last.", "delay": 4, "repeat": True},
    {"when": "^quick", "text": "At once.", "repeat": True},
]
Open = Callable[..., TerminalScreen]


@pytest.fixture
def open_chat(asker: None, env: dict[str, str], home: Path, work: Path, tmp_path: Path) -> Any:
    """Starts a chat with settings of the plugin ``terminal``."""
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(json.dumps({"steps": STEPS}), "utf-8")
    begun: list[TerminalScreen] = []

    def start(settings: str = "{notify_seconds: 3}", **more: str) -> TerminalScreen:
        plugins = f"{{asker: true, titles: false, terminal: {settings}}}"
        (home / "config.yaml").write_text(f"plugins: {plugins}\n", "utf-8")
        argv = [*HOOKLINE, "chat", "--model", f"scripted/{scenario}"]
        begun.append(TerminalScreen(argv, env=env | more, cwd=work))
        begun[-1].wait_for("auto")
        return begun[-1]

    yield start
    for one in begun:
        one.close()


@pytest.mark.slow
def test_question_notifies_unfocused_terminal_and_reports_do_not_answer_it(open_chat: Open) -> None:
    chat = open_chat()
    chat.type("go\r")
    chat.wait_for("thinking")
    chat.type(FOCUS_OUT)
    chat.wait_for("4. Deny")
    chat.settle()
    assert chat.raw.count(BELL) == chat.raw.count(DESKTOP) == 1
    assert b"\x1b[22;2t" + WAITING in chat.raw
    chat.type(FOCUS_IN + FOCUS_OUT + FOCUS_IN)
    chat.settle(1.0)
    assert "4. Deny" in chat.text
    assert POPPED not in chat.raw
    chat.type("1\r")
    chat.wait_for("It flew.")
    chat.settle()
    assert POPPED in chat.raw
    chat.type(FOCUS_OUT + "qui" + FOCUS_IN + "ck\r")
    chat.wait_for("At once.")
    chat.settle()
    assert "› quick\n" in chat.scrollback
    chat.type("/resume\r")
    chat.wait_for("Resume a session")
    chat.type(FOCUS_OUT)
    chat.settle()
    assert "[O" not in chat.text
    chat.type("\x1b")
    chat.settle()
    chat.type("\x04")
    assert chat.end() == 0
    assert chat.raw.count(b"\x1b[?1004h") == chat.raw.count(b"\x1b[?1004l") == 1


@pytest.mark.slow
def test_only_a_long_turn_of_an_unfocused_terminal_notifies(open_chat: Open) -> None:
    chat = open_chat(VTE_VERSION="7600")
    chat.type(FOCUS_OUT)
    chat.type("quick\r")
    chat.wait_for("At once.")
    chat.settle()
    assert BELL not in chat.raw
    chat.type("slow\r")
    chat.wait_for("At last.")
    chat.settle()
    assert chat.raw.count(BELL) == 1
    assert b"\x1b]777;notify;Hookline;Hookline has finished.\x1b\\" in chat.raw
    chat.type(FOCUS_IN + "slow\r")
    chat.wait_until(lambda: chat.scrollback.count("At last.") == 2, "the second answer")
    chat.settle()
    assert chat.raw.count(BELL) == 1


@pytest.mark.slow
def test_notify_false_sends_nothing(open_chat: Open) -> None:
    chat = open_chat("{notify: false}")
    chat.type("go\r")
    chat.wait_for("4. Deny")
    chat.type("\x1b")
    chat.wait_for("It stayed.")
    chat.type("\x04")
    assert chat.end() == 0
    for code in (BELL, b"\x1b]2;", b"\x1b]9;", b"?1004", b"22;2t"):
        assert code not in chat.raw
