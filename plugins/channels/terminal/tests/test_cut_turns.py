"""A turn that ends with its terminal is offered again; a stopped tool leaves a line."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from support.terminal import TerminalScreen

Script = Callable[[str], str]
Open = Callable[..., TerminalScreen]
STEPS = """
  - {when: "^run", tools: [{name: bash, arguments: {command: "touch began; sleep 60"}}]}
  - {when: "", text: "Heard.", repeat: true}
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, None])
def test_turn_of_closed_chat_can_be_run_again(
    screen: Open, script: Script, work: Path, number: signal.Signals | None
) -> None:
    model = script(STEPS)
    chat = screen("chat", "--model", model)
    chat.wait_for("auto")
    chat.type("run it\r")
    chat.wait_until((work / "began").exists, "the tool")
    if number is None:
        chat.type("\x04")
        assert chat.end() == 0
    else:
        os.kill(chat._process.pid, number)
        assert chat.end() == 128 + number
        assert chat.raw.rfind(b"\x1b[?2004l") > chat.raw.rfind(b"\x1b[?2004h")
        assert chat.raw.rfind(b"\x1b[?1004l") > chat.raw.rfind(b"\x1b[?1004h")
    (work / "began").unlink()
    again = screen("chat", "--continue", "--model", model, columns=40, rows=20)
    again.wait_for("/retry")
    assert "The last turn was cut off" in again.text
    assert not (work / "began").exists()
    again.type("/retry\r")
    again.wait_until((work / "began").exists, "the tool")
    again.type("\x1b")
    again.wait_for("· stopped after")
    again.type("\x04")
    assert again.end() == 0
    third = screen("chat", "--continue", "--model", model)
    third.wait_for("auto")
    assert "/retry" not in third.settle()


AGENTS = [
    {
        "when": "^both",
        "tools": [
            {"name": "delegate", "arguments": {"task": "Count the files"}},
            {"name": "delegate", "arguments": {"task": "Read the notes"}},
        ],
    },
    {
        "when": "^Count",
        "tools": [
            {"name": "bash", "arguments": {"command": "until test -e go; do sleep .1; done"}}
        ],
    },
    {"when": "^Read", "delay": 3, "text": "Nothing in them."},
    {"when": "exit code", "text": "Seven."},
    {"when": "Seven", "text": "All done."},
]


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 20)])
def test_sub_agents_have_a_line_each(
    screen: Open, tmp_path: Path, home: Path, work: Path, columns: int, rows: int
) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(json.dumps({"steps": AGENTS}), "utf-8")
    chat = screen("chat", "--model", f"scripted/{scenario}", columns=columns, rows=rows)
    chat.wait_for("auto")
    chat.type("both\r")
    chat.wait_for("↳ Count the")
    chat.wait_for("↳ Read the")
    chat.wait_until(
        lambda: any("↳ Count" in line and "bash" in line for line in chat.lines), "its tool"
    )
    chat.type("/tasks\r")
    chat.wait_for("running for")
    assert "Count the files" in chat.text
    (work / "go").touch()
    chat.wait_for("All done.")
    chat.settle()
    assert "↳" not in chat.text
    assert "✓ delegate Count the" in chat.scrollback


JOBS = """
  - when: "^serve"
    tools:
      - name: bash
        arguments: {command: "(while ! test -e go; do echo tick; sleep .2; done) & echo up"}
  - {when: "", text: "Heard.", repeat: true}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 20)])
def test_background_job_has_a_line_and_leaves_one(
    screen: Open, script: Script, work: Path, columns: int, rows: int
) -> None:
    chat = screen("chat", "--model", script(JOBS), columns=columns, rows=rows)
    chat.wait_for("auto")
    chat.type("serve\r")
    chat.wait_for("⚙ job 1: ")
    if columns > 40:
        chat.wait_for("s · tick")
    (work / "go").touch()
    chat.wait_for("job 1 has ended after")
    chat.wait_until(lambda: "⚙" not in chat.text, "no line")
