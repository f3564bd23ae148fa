"""A type checker reports a wrong hook, and accepts correct ones and the docs example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from meta.tree import ROOT

HEADER = """
from hookline_hookspecs import (
    Context, ContextBlock, Deny, Inbound, NoConfig, Plugin, Reply, ToolCall, Turn, Verdict,
    hookimpl,
)
"""
RIGHT = {
    "plain": "def pre_tool(self, ctx: Context, call: ToolCall) -> Verdict | None: return None",
    "coroutine": (
        "async def pre_tool(self, ctx: Context, call: ToolCall) -> Verdict | None: return None"
    ),
    "narrower": "def on_message(self, ctx: Context, inbound: Inbound) -> Deny: return Deny('')",
    "contribution": (
        "def pre_prompt(self, ctx: Context, turn: Turn) -> list[ContextBlock]: return []"
    ),
    "nothing": "async def end_of_turn(self, ctx: Context, turn: Turn) -> None: ...",
}
WRONG = {
    "event_type": "def pre_tool(self, ctx: Context, call: str) -> Verdict | None: return None",
    "no_event": "def pre_tool(self, ctx: Context) -> Verdict | None: return None",
    "extra_argument": (
        "def pre_reply(self, ctx: Context, reply: Reply, more: int) -> Reply | None: return None"
    ),
    "answer": "def pre_reply(self, ctx: Context, reply: Reply) -> str: return ''",
    "coroutine_answer": (
        "async def pre_tool(self, ctx: Context, call: ToolCall) -> bool: return True"
    ),
    "coroutine_register": ("async def register_tools(self, register: object) -> None: ..."),
}


SERVICES = """
from typing import Protocol

from hookline_hookspecs import Host


class Clock(Protocol):
    def hour(self) -> int: ...


class Watch:
    def hour(self) -> int:
        return 12


def used(host: Host) -> int:
    host.services.provide(Clock, Watch())
    clock = host.services.get(Clock)
    return host.services[Clock].hour() if clock is None else clock.hour()


def misused(host: Host) -> str:
    return host.services[Clock].hour()
"""


@pytest.fixture(scope="module")
def mypy_errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Every example, checked in one run: its name to what mypy says of it."""
    folder = tmp_path_factory.mktemp("types")
    for name, method in {**RIGHT, **WRONG}.items():
        text = f"{HEADER}class Sample(Plugin[NoConfig]):\n    @hookimpl\n    {method}\n"
        (folder / f"{name}.py").write_text(text, "utf-8")
    (folder / "services.py").write_text(SERVICES, "utf-8")
    (folder / "documented.py").write_text(documented_plugin(), "utf-8")
    return _checked(folder)


def documented_plugin() -> str:
    """The example of the page on writing a plugin."""
    text = (ROOT / "docs" / "writing-a-plugin.md").read_text("utf-8")
    found = re.search(r"^```python[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found, "writing-a-plugin.md has no Python example"
    return found[1]


def _checked(folder: Path) -> dict[str, list[str]]:
    (folder / "mypy.ini").write_text("[mypy]\n", "utf-8")
    names = sorted(file.name for file in folder.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "mypy.ini", *names]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    errors = [line for line in run.stdout.splitlines() if ": error: " in line]
    return {
        name.removesuffix(".py"): [line for line in errors if line.startswith(f"{name}:")]
        for name in names
    }


@pytest.mark.parametrize("name", [*RIGHT, "documented"])
def test_correct_hook_type_checks(mypy_errors: dict[str, list[str]], name: str) -> None:
    assert mypy_errors[name] == []


@pytest.mark.parametrize("name", WRONG)
def test_wrong_hook_is_a_type_error(mypy_errors: dict[str, list[str]], name: str) -> None:
    assert any(line.endswith("[override]") for line in mypy_errors[name])


def test_services_are_typed_by_their_protocols(mypy_errors: dict[str, list[str]]) -> None:
    (line,) = mypy_errors["services"]
    assert 'got "int", expected "str"' in line
