"""Nothing from outside begins in the first column, where the program's own lines stand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.terminal import TerminalScreen

from .conftest import HOOKLINE, install_plugin

SIZES = [(80, 24), (40, 20), (120, 40)]
FORGED = re.compile(r"(?:\d+\. |[?›❯✓✗] ?)FORGED", re.MULTILINE)
"""A line of the program, with a word that only the scenarios below contain."""
FORGER = '''
from hookline_hookspecs import Ask, Plugin, Question, command, hookimpl, tool

class Forger(Plugin):
    @tool
    def launch(self, target: str) -> str:
        """Launch something."""
        return f"launched {target}"

    @tool
    async def choose(self, ctx, text: str, among: list[str]) -> str:
        """Let a person choose."""
        return f"chosen {await ctx.ask(Question(text, tuple(among)))}"

    @hookimpl
    def pre_tool(self, ctx, call):
        if call.name == "launch":
            ctx.notify(call.arguments["target"])
            return Ask("it cannot be undone", call.arguments["target"])

    @command("/show")
    def show(self, ctx, args):
        """Show a text."""
        return args
'''


def hostile(columns: int) -> str:
    """Text whose lines, wrapped at any of these columns, would forge a line of the program."""
    forged = [f"{n}. FORGED" for n in (1, 2)] + ["? FORGED", "› FORGED", "❯ FORGED"]
    widths = range(columns - 6, columns + 2)
    wrapped = [f"{'x' * n}{gap}{line}" for n in widths for gap in ("", " ") for line in forged[:3]]
    tabs = [f"\t\t{'y' * (columns - 16)}{forged[0]}", f"{'❤️' * (columns // 2)}{forged[1]}"]
    return "\n".join([*forged, *wrapped[:: max(1, len(wrapped) // 12)], *tabs])


def forged_lines(screen: TerminalScreen) -> list[str]:
    return [line for line in screen.scrollback.split("\n") if FORGED.match(line)]


@pytest.fixture
def forger(tmp_path: Path, home: Path, env: dict[str, str]) -> None:
    """Installs a plugin that shows what it is given."""
    install_plugin("forger", FORGER, tmp_path / "site", home, env)


Start = Callable[..., TerminalScreen]


@pytest.fixture
def start(forger: None, env: dict[str, str], work: Path, tmp_path: Path) -> Any:
    """Starts ``hookline chat`` or ``run`` with the steps of a scenario, on a screen of a size."""
    begun: list[TerminalScreen] = []

    def open_(steps: list[dict[str, Any]], columns: int, rows: int, *words: str) -> TerminalScreen:
        scenario = tmp_path / "scenario.yaml"
        scenario.write_text(json.dumps({"steps": steps}), "utf-8")
        argv = [*HOOKLINE, *words, "--model", f"scripted/{scenario}"]
        begun.append(TerminalScreen(argv, env=env, cwd=work, columns=columns, rows=rows))
        return begun[-1]

    yield open_
    for one in begun:
        one.close()


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "arguments": arguments}


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_answers_calls_and_results_stay_right_of_the_first_column(
    start: Start, columns: int, rows: int
) -> None:
    text = hostile(columns)
    steps = [
        {"when": "^go", "text": text, "tools": [call("bash", command=f"cat <<'E'\n{text}\nE")]},
        {"when": "FORGED", "text": f"```\n{text}\n```\n\nThe end.", "delay": 0.3},
    ]
    chat = start(steps, columns, rows, "chat", "--mode", "auto")
    chat.wait_for("auto")
    chat.type("go\r")
    chat.wait_for("The end.")
    chat.type(f"\x1b[200~/show {text}\x1b[201~\r")
    chat.settle(1.0)
    chat.type("\x0f")
    chat.settle(1.0)
    assert chat.scrollback.count("FORGED") > 20
    assert forged_lines(chat) == []


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), SIZES)
@pytest.mark.parametrize("words", [("chat",), ("run", "go")])
def test_questions_and_notices_stay_right_of_the_first_column(
    start: Start, columns: int, rows: int, words: tuple[str, ...]
) -> None:
    text = hostile(columns)
    steps = [
        {"when": "^go", "tools": [call("launch", target=text)]},
        {"when": "Denied", "tools": [call("choose", text=f"Which? {text}", among=["red", text])]},
        {"when": "chosen", "text": f"{text}\n\nThe end."},
    ]
    chat = start(steps, columns, rows, *words)
    if words == ("chat",):
        chat.wait_for("auto")
        chat.type("go\r")
    chat.wait_until(lambda: "Deny" in chat.text, "the choices")
    chat.settle()
    assert "│ ? FORGED" in chat.scrollback
    chat.type("\x1b")
    chat.wait_until(lambda: "Which?" in chat.scrollback, "the second question")
    chat.settle(1.0)
    chat.type("\x1b")
    chat.wait_until(lambda: "The end." in chat.text or "Write your answer" in chat.text, "the end")
    chat.settle()
    assert chat.scrollback.count("FORGED") > 20
    assert forged_lines(chat) == []
