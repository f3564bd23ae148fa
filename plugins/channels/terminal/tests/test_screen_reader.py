"""The chat for a screen reader: plain lines that are written once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[[str], str]
STEPS = """
  - {when: "^write", tools: [{name: write_file, arguments: {path: a.txt, content: "x\\n"}}]}
  - {when: "a.txt", text: "| a | b |\\n|---|---|\\n| 1 | 2 |\\n"}
"""
DRAWN = re.compile(r"[─-╿▀-▟⠀-⣿✓✗›❯●▌]")
"""Boxes, bars, spinners and marks."""


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 20)])
def test_screen_reader_mode_announces_instead_of_drawing(
    screen: Callable, script: Script, home: Path, columns: int, rows: int
) -> None:
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("plugins: {terminal: {screen_reader: true}}\n", "utf-8")
    argv = ("chat", "--mode", "ask", "--model", script(STEPS))
    chat = screen(*argv, columns=columns, rows=rows)
    chat.wait_for("Message:")
    chat.type("write\r")
    chat.wait_for("Answer 1 to 4, then Enter.")
    seen = chat.scrollback
    assert "You: write\nWorking.\nRunning write_file a.txt" in seen
    assert "Question: Allow write_file?" in seen
    assert "  1. Allow once\n" in seen
    assert seen.count("1. Allow once") == 1
    chat.type("1\r")
    chat.wait_for("| 1 | 2 |")
    chat.settle()
    seen = chat.scrollback
    assert re.search(r"^Tool write_file a.txt(, \+1 -0, |\n  \+1 -0, )", seen, re.MULTILINE)
    assert not DRAWN.findall(seen)
    assert "scripted/" not in seen  # no status line


@pytest.mark.slow
def test_environment_switches_screen_reader_mode_on(
    env: dict[str, str], work: Path, script: Script
) -> None:
    from support.terminal import TerminalScreen

    from .conftest import HOOKLINE

    argv = [*HOOKLINE, "chat", "--model", script(STEPS)]
    with TerminalScreen(argv, env=env | {"HOOKLINE_SCREEN_READER": "1"}, cwd=work) as chat:
        chat.wait_for("Message:")
        chat.type("/resume\r")
        chat.wait_for("You: /resume")
        chat.wait_for("no session to resume")
