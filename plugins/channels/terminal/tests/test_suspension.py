"""Ctrl-Z and fg in a shell: while idle, while a turn runs, while a question stands."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.terminal import TerminalScreen

from .conftest import HOOKLINE

Script = Callable[[str], str]
STEPS = """
  - {when: "^go", tools: [{name: launch, arguments: {target: moon}}]}
  - {when: "launched", text: "It flew."}
  - when: "^run"
    tools: [{name: bash, arguments: {command: "until test -e go; do sleep .1; done"}}]
  - {when: "exit code", text: "It ran."}
  - {when: "", text: "Heard.", repeat: true}
"""
SHELL = "shell-prompt$ "
FOCUS_OUT = "\x1b[O"
WAITING = "\x1b]2;● waiting".encode()

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("asker")]


@pytest.fixture
def shell(env: dict[str, str], work: Path) -> Iterator[Callable[..., TerminalScreen]]:
    """Starts an interactive shell with job control."""
    started: list[TerminalScreen] = []

    def start(columns: int = 80, rows: int = 24) -> TerminalScreen:
        argv = ["/bin/bash", "--norc", "--noprofile", "-i"]
        more = env | {"PS1": SHELL, "HISTFILE": ""}
        shell = TerminalScreen(argv, env=more, cwd=work, columns=columns, rows=rows)
        started.append(shell)
        shell.wait_for(SHELL.strip())
        return shell

    yield start
    for one in started:
        one.close()


def start_chat(shell: TerminalScreen, model: str) -> None:
    """Start a chat in the shell."""
    shell.type(f"clear; {shlex.join([*HOOKLINE, 'chat', '--model', model])}\r")
    shell.wait_for("auto")


def suspend(shell: TerminalScreen) -> None:
    """Press Ctrl-Z; the shell is back, its line is edited as usual, and nothing is left over."""
    shell.type("\x1a")
    shell.wait_for("Stopped")
    assert "[O" not in shell.settle()
    shell.type("clear; echo 1-$((1+1))\r")
    shell.wait_for("1-2")
    assert "echo 1-" not in shell.text


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 20)])
def test_ctrl_z_and_fg_keep_draft_turn_and_question(
    shell: Callable[..., TerminalScreen], script: Script, work: Path, columns: int, rows: int
) -> None:
    screen = shell(columns, rows)
    start_chat(screen, script(STEPS))
    screen.type("a draft")
    screen.wait_for("› a draft")
    suspend(screen)
    screen.resize(columns, rows + 2)
    screen.type("fg\r")
    screen.wait_until(lambda: screen.text.count("› a draft") == 1, "the draft")
    screen.settle()
    assert screen.text.count("› a draft") == 1
    screen.type("\x15run\r")
    screen.wait_for("esc stops")
    suspend(screen)
    (work / "go").touch()
    screen.type("fg\r")
    screen.wait_for("It ran.")
    screen.type("go\r")
    screen.wait_for("4. Deny")
    suspend(screen)
    screen.type("fg\r1\r")  # typed before the choices are back
    screen.wait_until(lambda: screen.text.rfind("4. Deny") > screen.text.rfind("fg"), "choices")
    screen.settle(1.0)
    assert "It flew." not in screen.text
    screen.type("1\r")
    screen.wait_for("It flew.")
    screen.settle(1.0)
    screen.type("\x03")  # what was typed too early is a draft now
    screen.settle(1.0)
    screen.type("\x04")
    screen.wait_until(lambda: screen.text.rstrip().endswith(SHELL.strip()), "the shell")
    screen.type("echo 2-$((1+1))\r")
    screen.wait_for("2-2")


def test_notifications_and_title_are_right_after_fg(
    shell: Callable[..., TerminalScreen], script: Script
) -> None:
    screen = shell()
    start_chat(screen, script(STEPS))
    screen.type(FOCUS_OUT + "go\r")
    screen.wait_for("4. Deny")
    screen.settle()
    assert screen.raw.count(WAITING) == screen.raw.count(b"\x1b]9;Hookline") == 1
    suspend(screen)
    raw = screen.raw
    assert raw.rfind(b"\x1b[23;2t") > raw.rfind(WAITING)
    assert raw.rfind(b"\x1b[?1004l") > raw.rfind(b"\x1b[?1004h")
    screen.type("fg\r")
    screen.wait_until(lambda: screen.raw.count(WAITING) == 2, "the title")
    raw = screen.raw
    assert raw.rfind(b"\x1b[?1004h") > raw.rfind(b"\x1b[?1004l")
    screen.wait_until(lambda: screen.text.rfind("4. Deny") > screen.text.rfind("fg"), "choices")
    assert screen.raw.count(b"\x1b]9;Hookline") == 1
    screen.type("1\r")
    screen.wait_for("It flew.")


def test_stop_by_another_process_gets_the_terminal_back(
    shell: Callable[..., TerminalScreen], script: Script, work: Path
) -> None:
    screen = shell()
    start_chat(screen, script(STEPS))
    screen.type("!echo $PPID > pid\r")
    screen.wait_until(lambda: (work / "pid").exists() and (work / "pid").read_text(), "its id")
    screen.settle()
    os.kill(int((work / "pid").read_text()), signal.SIGSTOP)
    screen.wait_for("Stopped")
    screen.type("stty sane; echo back\r")
    screen.wait_for("back")
    screen.type("fg\r")
    screen.wait_until(lambda: "auto · sandboxed" in screen.text.rpartition("fg")[2], "a prompt")
    screen.type("hello\r")
    screen.wait_for("It ran.")
    assert "hello\n" in screen.text
