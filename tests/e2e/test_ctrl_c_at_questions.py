"""Ctrl-C at a command's question ends the command, while the event loop runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.terminal import TerminalScreen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("vault set key", "Value of key (not shown):"),
        ("vault rm key", "Remove key for good?"),
        ("plugins purge memory", "has stored in"),
    ],
)
def test_ctrl_c_at_a_question_ends_the_command(tmp_path: Path, words: str, question: str) -> None:
    home = tmp_path / "home"
    env = {**os.environ, "HOOKLINE_HOME": str(home)}
    program = [sys.executable, "-m", "hookline", *words.split()]
    with TerminalScreen(program, env=env, cwd=tmp_path) as screen:
        screen.wait_for(question)
        screen.settle()
        screen.type("\x03")
        assert screen.end(20) == 130
        assert screen.raw.endswith(b"\n")
