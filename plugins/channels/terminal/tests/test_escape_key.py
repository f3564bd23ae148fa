"""Esc stops what runs; pressed twice at an idle prompt, it clears the line or offers to go back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.terminal import TerminalScreen

Script = Callable[[str], str]
Open = Callable[..., TerminalScreen]
STEPS = """
  - {when: "^run", tools: [{name: bash, arguments: {command: "touch began; sleep 60; touch over"}}]}
  - {when: "^think", text: "never", delay: 60}
  - {when: "^write", tools: [{name: write_file, arguments: {path: a.txt, content: x}}]}
  - {when: "Created", text: "Written."}
  - {when: "", text: "Heard.", repeat: true}
"""
SIZES = [(80, 24), (120, 40), (40, 20)]


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_escape_stops_running_tool_and_model(
    screen: Open, script: Script, work: Path, columns: int, rows: int
) -> None:
    chat = screen("chat", "--model", script(STEPS), columns=columns, rows=rows)
    chat.wait_for("›")
    chat.type("run it\r")
    chat.wait_until((work / "began").exists, "the tool")
    chat.type("kept")
    chat.wait_for("› kept")
    chat.type("\x1b")
    chat.wait_for("Stopped.")
    assert "› kept" in chat.settle()
    chat.type("\x15think\r")
    chat.wait_for("thinking 1 s")
    assert "esc stops" in chat.text
    chat.type("\x1b")
    chat.wait_until(lambda: chat.scrollback.count("Stopped.") == 2, "a second end")
    chat.type("hello\r")
    chat.wait_for("Heard.")
    assert not (work / "over").exists()


@pytest.mark.slow
def test_escape_twice_clears_line_or_offers_rewind(screen: Open, script: Script) -> None:
    chat = screen("chat", "--model", script(STEPS))
    chat.wait_for("›")
    chat.type("write it\r")
    chat.wait_for("Written.")
    chat.type("a draft")
    chat.type("\x1b")
    chat.wait_for("(Esc again clears the line)")
    chat.type("\x1b")
    chat.wait_until(lambda: "a draft" not in chat.text, "an empty line")
    chat.type("\x1b[A")
    chat.wait_for("› a draft")
    chat.type("\x15\x1b")
    chat.wait_for("(Esc again goes back)")
    chat.type("\x1b")
    chat.wait_for("› /rewind")
    chat.wait_for(", before “write it”")
    chat.type("\x15\x1b")
    chat.settle(1.2)  # too late for the second one
    assert "Esc again" not in chat.text
    chat.type("\x1b")
    chat.wait_for("(Esc again goes back)")
    chat.type("b")
    assert "› b" in chat.settle()


@pytest.mark.slow
def test_text_after_escape_is_typed_and_alt_is_not_escape(screen: Open, script: Script) -> None:
    chat = screen("chat", "--model", script(STEPS))
    chat.wait_for("›")
    chat.type("think\r")
    chat.wait_for("thinking")
    chat.type("\x1bx")  # Alt-X, which does nothing
    chat.wait_for("› x")
    chat.wait_for("thinking 2 s")
    assert "esc stops" in chat.text
    chat.type("\x15\x1bbefore and after")
    chat.wait_for("Stopped.")
    assert "› before and after" in chat.settle()
