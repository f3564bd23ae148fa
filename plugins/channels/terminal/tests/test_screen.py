"""The screen while a turn runs and after it, as a person reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.terminal import TerminalScreen

from .conftest import HOOKLINE

Open = Callable[..., TerminalScreen]
LINES = "\\n".join(f"line {n}" for n in range(1, 41))
STEPS = f"""
  - when: "^write"
    text: I write.
    tools: [{{name: write_file, arguments: {{path: new.txt, content: "{LINES}\\n"}}}}]
  - when: "Created"
    text: I change.
    tools:
      - name: edit_file
        arguments: {{path: new.txt, old_string: "line 7\\n", new_string: "line seven\\n"}}
  - when: "Edited"
    text: I run.
    tools: [{{name: bash, arguments: {{command: "seq 1 30; exit 3"}}}}]
  - {{when: "exit code 3", text: "one\\ntwo"}}
  - {{when: "^slow", text: "at last", delay: 4}}
  - {{when: "^after", text: "second answer"}}
"""


@pytest.fixture
def open_chat(env: dict[str, str], work: Path, script: Callable[[str], str]) -> Iterator[Open]:
    """Starts a chat on a screen of its own."""
    begun: list[TerminalScreen] = []
    model = script(STEPS)

    def start(columns: int = 80, **more: str) -> TerminalScreen:
        screen = TerminalScreen(
            [*HOOKLINE, "chat", "--model", model, "--mode", "auto"],
            env=env | more,
            cwd=work,
            columns=columns,
            rows=40,
        )
        begun.append(screen)
        screen.wait_for("auto")
        return screen

    yield start
    for screen in begun:
        screen.close()


@pytest.mark.slow
def test_turn_shows_file_changes_and_command_output(open_chat: Open) -> None:
    screen = open_chat()
    screen.type("write\r")
    screen.wait_for("two")
    screen.settle()
    seen = screen.scrollback
    assert "✓ write_file new.txt" in seen
    assert "+40 -0" in seen
    assert "   1 + line 1\n" in seen
    assert "16 more lines, ctrl-o shows all" in seen
    assert "✓ edit_file new.txt" in seen
    assert "   7 - line 7\n   7 + line seven\n" in seen
    assert "✗ bash seq 1 30; exit 3 · exit code 3 · " in seen
    assert "  2\n  … 22 more lines, ctrl-o shows all\n  25\n" in seen
    assert "  one\n  two\n" in seen
    assert screen.cell("line seven").fg == "green"
    assert re.search(
        r"auto · (sandboxed · )?\d+% of ", screen.lines[-1] or screen.text.split("\n")[-1]
    )
    screen.type("\x0f")
    screen.wait_until(lambda: "  17\n  18\n" in screen.scrollback, "all of the output")
    screen.type("/expand\r")
    screen.wait_until(lambda: "39 + line 39\n" in screen.scrollback, "all of the diff")
    screen.type("\x0f")
    screen.wait_for("Nothing is folded.")


@pytest.mark.slow
def test_message_typed_during_turn_is_shown_as_queued(open_chat: Open) -> None:
    screen = open_chat()
    screen.type("slow\r")
    screen.wait_for("thinking 1 s · esc stops")
    screen.type("after\r")
    screen.wait_for("queued › after")
    screen.wait_for("second answer")
    screen.settle()
    seen = screen.scrollback
    assert "queued" not in seen
    assert "thinking" not in seen
    assert seen.index("at last") < seen.index("› after") < seen.index("second answer")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, pytest.param(160, marks=pytest.mark.slow)])
def test_help_and_diffs_fit_the_width(open_chat: Open, columns: int) -> None:
    screen = open_chat(columns, NO_COLOR="1")
    screen.type("/help all\r")
    screen.wait_for("/help NAME explains one command.")
    seen = screen.scrollback.split("\n")
    assert "  Conversation" in seen
    assert [line for line in seen if line.startswith("  /new (/reset)")]
    screen.type("write\r")
    screen.wait_for("two")
    screen.settle()
    assert screen.cell("line seven").fg == "default"
    screen.resize(60, 30)
    screen.type("hi there")
    screen.wait_for("› hi there")


@pytest.mark.slow
def test_window_size_overrides_environment(
    env: dict[str, str], work: Path, script: Callable[[str], str]
) -> None:
    model = script(f"  - text: {'unbreakable ' * 30}\n")
    argv = ["/usr/bin/env", "COLUMNS=130", "LINES=9", *HOOKLINE, "chat", "--model", model]
    with TerminalScreen(argv, env=env, cwd=work) as screen:
        screen.wait_for("· auto")
        screen.type("go\r")
        whole = lambda: screen.text.split().count("unbreakable") == 30  # noqa: E731
        screen.wait_until(whole, "every word on one line")
