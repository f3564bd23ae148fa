"""The question that a turn ends with: answered by a key, or in the person's own words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Script = Callable[[str], str]
STEPS = """
  - when: "^go"
    delay: 0.5
    tools:
      - name: clarify
        arguments:
          question: Which colour shall it be?
          choices:
            - red
            - a dark blue, like the sea at night when the moon is gone, that fits the logo
  - {when: "dark blue", text: "Blue it is."}
  - {when: "^red$", text: "Red it is."}
  - {when: "purple", text: "Purple it is."}
  - {when: "", text: "Heard.", repeat: true}
"""
DOWN = "\x1b[B"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["chat", "run"])
@pytest.mark.parametrize(
    ("columns", "keys", "end"),
    [
        (40, ["2", "\r"], "Blue it is."),
        (80, [DOWN, "\r"], "Red it is."),
        (80, ["pur", "ple", "\r"], "Purple it is."),
        (160, ["3\r", "purple", "\r"], "Purple it is."),
    ],
)
def test_clarify_question_accepts_key_or_text(
    screen: Callable, script: Script, command: str, columns: int, keys: list[str], end: str
) -> None:
    arguments = ["chat"] if command == "chat" else ["run", "go"]
    shown = screen(*arguments, "--model", script(STEPS), columns=columns)
    if command == "chat":
        shown.wait_for("›")
        shown.type("go\r")
    shown.wait_for("leaves it.")
    rows = shown.lines
    assert "  3. Other" in rows
    if columns == 40:
        assert rows[rows.index("  1. red") + 1 :][:3] == [
            "  2. a dark blue, like the sea at night",
            "     when the moon is gone, that fits",
            "     the logo",
        ]
    assert sum("1. red" in row for row in rows) == 1
    assert "Asked." not in shown.text
    for key in keys:
        shown.type(key)
        shown.settle()
    shown.wait_for(end)


@pytest.mark.slow
def test_text_typed_before_question_is_no_answer(screen: Callable, script: Script) -> None:
    chat = screen("chat", "--model", script(STEPS))
    chat.wait_for("›")
    chat.type("go\r")
    chat.wait_for("thinking")
    chat.type("1")
    chat.wait_for("? Which colour")
    chat.wait_for("leaves it.")
    assert "› 1 (kept)" in chat.text
    chat.type("\x1b")
    chat.wait_for("or the number of a choice")
    assert "› 1" in chat.settle()
    assert "  1. red" in chat.lines
    chat.type("\x7f2\r")
    chat.wait_for("Blue it is.")


@pytest.mark.slow
def test_open_question_is_asked_again_on_resume(
    screen: Callable, script: Script, piped: Callable
) -> None:
    model = script(STEPS)
    assert "3. Other" in piped("run", "go", "--session", "asked", "--model", model).stdout
    chat = screen("chat", "--resume", "asked", "--model", model)
    chat.wait_for("leaves it.")
    assert "  3. Other" in chat.lines
    chat.type("2\r")
    chat.wait_for("Blue it is.")


@pytest.mark.slow
def test_several_lines_typed_at_once_are_one_answer(screen: Callable, script: Script) -> None:
    chat = screen("chat", "--model", script(STEPS))
    chat.wait_for("›")
    chat.type("go\r")
    chat.wait_for("leaves it.")
    chat.type("purple\rand more\r")
    chat.wait_for("Purple it is.")
    assert chat.settle().count("it is.") == 1
