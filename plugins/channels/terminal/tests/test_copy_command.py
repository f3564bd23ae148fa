"""``/copy``: what of an answer, and how it reaches the terminal."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline_terminal.copy_command import MAX_OSC52_BYTES, copy, text_to_copy
from support.terminal import TerminalScreen

ANSWER = "See:\n\n```python\na = 1\n```\n\nor\n\n~~~\nb = 2\n~~~\n"


def test_copy_takes_whole_reply_or_last_code_block() -> None:
    assert text_to_copy(ANSWER, "") == ANSWER
    assert text_to_copy(ANSWER, " Code") == "b = 2\n"
    assert text_to_copy("no code", "code") is None


def test_too_long_text_is_not_copied() -> None:
    sent: list[str] = []
    assert not copy("x" * (MAX_OSC52_BYTES + 1), {}, sent.append)
    assert not sent


@pytest.mark.slow
def test_copy_command_works_in_chat(
    env: dict[str, str], work: Path, script: Callable[[str], str]
) -> None:
    model = script("  - {when: hello, text: 'Some **words**.'}\n")
    argv = [sys.executable, "-m", "hookline", "chat", "--model", model]
    with TerminalScreen(argv, env=env, cwd=work) as screen:
        screen.wait_for("›")
        screen.type("/copy\r")
        screen.wait_for("Nothing to copy")
        screen.type("hello\r")
        screen.wait_for("Some words.")
        screen.settle()
        screen.type("/copy\r")
        screen.wait_for("Copied 15 characters.")
        found = re.search(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07", screen.raw)
        assert found is not None
        assert base64.b64decode(found[1]) == b"Some **words**."
