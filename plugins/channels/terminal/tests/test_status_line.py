"""The status line: which parts, in which order, and which a narrow screen drops."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[[str], str]
STEPS = """
  - {when: "^serve", text: "I serve.", tools: [{name: bash, arguments: {command: "sleep 60 &"}}]}
  - {when: "", text: "Heard.", repeat: true}
"""


def _repository(folder: Path, branch: str) -> None:
    subprocess.run(["git", "init", "-q", "-b", branch, str(folder)], check=True)


def _status(chat: object) -> str:
    return next(line for line in reversed(chat.lines) if line.strip())  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "rows", "shown", "dropped"),
    [
        (120, 40, ("auto", "% of 128k", "1 job", "(topic)"), ()),
        (80, 24, ("auto", "% of 128k"), ()),
        (40, 20, ("auto",), ("(topic)",)),
    ],
)
def test_status_line_drops_parts_from_the_right(
    screen: Callable,
    script: Script,
    work: Path,
    columns: int,
    rows: int,
    shown: tuple[str, ...],
    dropped: tuple[str, ...],
) -> None:
    _repository(work, "topic")
    chat = screen("chat", "--model", script(STEPS), columns=columns, rows=rows)
    chat.wait_for("auto")
    chat.type("serve\r")
    chat.wait_for("Heard.")
    for part in shown:
        chat.wait_until(lambda part=part: part in _status(chat), part)
    line = _status(chat)
    assert len(line) < columns
    assert not [part for part in dropped if part in line]


@pytest.mark.slow
def test_status_line_shows_the_chosen_parts_in_their_order(
    screen: Callable, script: Script, work: Path, home: Path
) -> None:
    _repository(work, "topic")
    home.mkdir(mode=0o700)
    config = "plugins: {terminal: {status: [branch, mode, folder]}}\n"
    (home / "config.yaml").write_text(config, "utf-8")
    chat = screen("chat", "--model", script(STEPS), columns=120)
    chat.wait_for("(topic) · auto · ")
    assert work.name in _status(chat)
    assert "scripted" not in _status(chat)


@pytest.mark.slow
def test_empty_list_hides_the_status_line(screen: Callable, script: Script, home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("plugins: {terminal: {status: []}}\n", "utf-8")
    chat = screen("chat", "--model", script(STEPS))
    chat.wait_for("›")
    chat.type("go\r")
    chat.wait_for("Heard.")
    chat.settle()
    assert chat.text.split("\n")[-1].startswith("›")
