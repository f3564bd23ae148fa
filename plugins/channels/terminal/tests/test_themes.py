"""Colours on a dark and a light terminal, with 16 colours, and without any."""

from __future__ import annotations

import os
import pty
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline_terminal.terminal_background import REPLY_TIMEOUT, background
from hookline_terminal.theme_setting import theme_without_asking
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100 import Vt100Input

Script = Callable[[str], str]
STEPS = """
  - {when: "", text: "Run `cargo bench` now.", repeat: true}
"""
SIZES = [(80, 24), (120, 40), (40, 20)]
WHITE, BLACK = "ffff/ffff/ffff", "0000/0000/0000"


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_inline_code_is_readable_on_a_light_terminal(
    screen: Callable, script: Script, columns: int, rows: int
) -> None:
    chat = screen("chat", "--model", script(STEPS), columns=columns, rows=rows, background=WHITE)
    chat.wait_for("›")
    chat.type("go\r")
    chat.wait_for("cargo bench")
    chat.settle()
    code = chat.cell("cargo bench")
    assert (code.fg, code.bg) == ("005f87", "default")
    assert "rgb:" not in chat.scrollback
    chat.type("/theme\r")
    chat.wait_for("Theme auto (light).")


@pytest.mark.slow
def test_theme_is_chosen_and_remembered(screen: Callable, script: Script) -> None:
    model = script(STEPS)
    chat = screen("chat", "--model", model, background=BLACK)
    chat.wait_for("›")
    chat.type("/theme\r")
    chat.wait_for("Theme auto (dark).")
    chat.type("/theme pink\r")
    chat.wait_for("Unknown theme 'pink'. Choose auto, dark, light, ansi, none.")
    chat.type("/theme light\r")
    chat.wait_for("Theme light.")
    chat.type("go\r")
    chat.wait_for("cargo bench")
    chat.settle()
    assert chat.cell("cargo bench").fg == "005f87"
    chat.type("\x04")
    assert chat.end() == 0
    again = screen("chat", "--model", model, background=BLACK)
    again.wait_for("›")
    again.type("/theme\r")
    again.wait_for("Theme light.")


@pytest.mark.slow
def test_no_color_and_theme_none_show_no_colours(
    screen: Callable, script: Script, env: dict[str, str]
) -> None:
    chat = screen("chat", "--model", script(STEPS), background=WHITE)
    chat.wait_for("›")
    chat.type("/theme none\r")
    chat.wait_for("Theme none.")
    chat.type("go\r")
    chat.wait_for("cargo bench")
    chat.settle()
    for words in ("cargo bench", "auto"):
        assert chat.cell(words).fg == chat.cell(words).bg == "default"


@pytest.mark.long
def test_no_color_asks_the_terminal_nothing(
    env: dict[str, str], work: Path, script: Script
) -> None:
    from support.terminal import TerminalScreen

    from .conftest import HOOKLINE

    argv = [*HOOKLINE, "chat", "--model", script(STEPS)]
    for more in ({"NO_COLOR": "1"}, {"TERM": "linux"}):
        with TerminalScreen(argv, env=env | more, cwd=work, background=WHITE) as chat:
            chat.wait_for("›")
            chat.type("go\r")
            chat.wait_for("cargo bench")
            chat.settle()
            assert chat.cell("cargo bench").bg == "default"
            assert b"\x1b]11" not in chat.raw


@pytest.mark.parametrize(
    ("env", "theme"),
    [
        ({"COLORFGBG": "0;15"}, "light"),
        ({"COLORFGBG": "15;default;0"}, "dark"),
        ({"COLORFGBG": "0;default"}, "ansi"),
        ({"COLORFGBG": "0;15", "TERM": "linux"}, "ansi"),
        ({}, "ansi"),
    ],
)
def test_theme_auto_follows_the_environment(env: dict[str, str], theme: str) -> None:
    assert theme_without_asking("auto", env) == theme
    assert theme_without_asking("dark", env) == "dark"


@pytest.mark.parametrize(
    ("replies", "found"),
    [
        (["\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b[?62;22c"], "light"),
        (["\x1b]11;rgb:1e1e/1e1e/2e2e\x07\x1b[?6c"], "dark"),
        (["\x1b]11;rgb:fd/f6/e3\x1b", "\\\x1b[?64;1;2c"], "light"),
        (["\x1b[?6c"], None),
        ([], None),
    ],
)
def test_replies_of_the_terminal_are_no_keys(replies: list[str], found: str | None) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, encoding="utf-8") as stream:
        keyboard = Vt100Input(stream)

        def answer(_query: str) -> None:
            os.write(master, b"h" + "".join(replies).encode() + b"i")

        with keyboard.raw_mode():
            began = time.monotonic()
            assert background(keyboard, answer) == found
            assert time.monotonic() - began < REPLY_TIMEOUT + 1.0
        typed = "".join(key.data for key in get_typeahead(keyboard))
    os.close(master)
    assert typed == "hi"
