"""Closing the terminal, and SIGTERM, end what the agent started and restore the terminal."""

from __future__ import annotations

import os
import signal
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

JOB = "(trap '' HUP; while :; do date +%N > beat; sleep .05; done) & echo started"
NOW = "while :; do date +%N > now; sleep .05; done"
STEPS = f"""
  - {{when: "^go", tools: [{{name: bash, arguments: {{command: "{JOB}"}}}}]}}
  - {{when: "", tools: [{{name: bash, arguments: {{command: "{NOW}"}}}}]}}
"""


def is_quiet(file: Path) -> bool:
    """Whether nothing writes the file any more."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        last = file.read_text()
        time.sleep(0.5)
        if file.read_text() == last:
            return True
    return False


def wait_for(file: Path) -> None:
    until = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < until, f"{file.name} did not appear"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGHUP", "SIGTERM", "hang up"])
def test_commands_and_jobs_end_with_the_terminal(
    terminal: Callable[..., Any], script: Callable[[str], str], home: Path, work: Path, how: str
) -> None:
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(
        'plugins: {shell: {sandbox: {enabled: false}}, permissions: {allow: ["bash(*)"]}}\n'
    )
    chat = terminal("chat", "--model", script(STEPS))
    before = termios.tcgetattr(chat._master)
    chat.wait_for("›")
    chat.type("go\r")
    for name in ("beat", "now"):
        wait_for(work / name)
    if how == "hang up":
        os.close(chat._master)
        chat._process.wait(60)
        chat._master = os.open(os.devnull, os.O_RDONLY)
    else:
        chat._process.send_signal(signal.Signals[how])
        assert chat.end() == 128 + signal.Signals[how]
    for name in ("beat", "now"):
        assert is_quiet(work / name), name
    if how != "hang up":
        assert termios.tcgetattr(chat._master)[3] == before[3]
