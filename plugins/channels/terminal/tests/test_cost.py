"""Cost in the chat: the status line, and the line at its end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[[str], str]
STEPS = '\n  - {when: "", text: "Heard.", repeat: true}\n'
SETTINGS = """
providers: {{priced: {{driver: scripted}}, other: {{driver: scripted}}}}
plugins:
  titles: false
  insights: {{prices: {{"priced/{0}": {{input: 2000, output: 0}}}}}}
"""


@pytest.mark.slow
def test_session_cost_adds_up_and_is_shown_at_the_end(
    screen: Callable, script: Script, home: Path
) -> None:
    file = script(STEPS).removeprefix("scripted/")
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(SETTINGS.format(file), "utf-8")
    chat = screen("chat", "--model", f"priced/{file}", columns=160)

    def cost() -> float:
        found = re.search(r"· \$([0-9.]+)(?: ·|$)", chat.text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    chat.wait_for("›")
    chat.type("one\r")
    chat.wait_until(lambda: cost() > 0, "a cost")
    first = cost()
    chat.type("two\r")
    chat.wait_until(lambda: cost() > 1.9 * first, "the cost of both turns")
    chat.type("/whoami\r")
    chat.wait_for("in chat default")
    chat.settle()
    assert cost() > 1.9 * first
    chat.type(f"/model other/{file}\r")
    chat.wait_for(f"Model: other/{file}")
    chat.type("three\r")
    chat.wait_for("tokens, cost unknown")
    assert "other/" in chat.text.splitlines()[-1]
    chat.type("\x04")
    chat.end()
    assert re.search(r"^Cost: unknown for \S+ tokens\nContinue with: ", chat.text, re.MULTILINE)
