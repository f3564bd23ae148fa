"""The help of every command and subcommand, as a person reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hookline.cli.catalog import installed_commands
from hookline.testing import Harness
from hookline_hookspecs import Plugin, hookimpl
from support.machine import Machine

MAX_LINE_CHARS = 80
VERBS = frozenset(
    {
        *(
            "Add",
            "Approve",
            "Archive",
            "Back",
            "Block",
            "Bring",
            "Chat",
            "Check",
            "Connect",
            "Copy",
        ),
        *(
            "Count",
            "Create",
            "Delete",
            "Export",
            "Fetch",
            "Forget",
            "Import",
            "Index",
            "Inspect",
            "Install",
            "Keep",
            "Lift",
            "List",
        ),
        *("Log", "Make", "Manage", "Migrate", "Open", "Pause", "Print", "Propose", "Re-encrypt"),
        *("Remove", "Replace", "Restore", "Resume", "Review", "Revoke", "Roll", "Run", "Say"),
        *("Schedule", "Serve", "Set", "Show", "Stop", "Store", "Switch", "Trust", "Try", "Undo"),
        *("Uninstall", "Unpin"),
    }
)
INTERNAL = re.compile(
    r"\b(dataclass|asyncio|coroutine|stdin|stdout|TyperGroup|SIGTERM|SIGINT|None|dict|str|bool)\b"
)
PYTHON_TYPE = re.compile(r"<\w|list\[|int range|[<>]=\d")


def commands() -> Iterator[tuple[str, Any]]:
    """Every command by its words."""

    def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for word, inner in getattr(command, "commands", {}).items():
            yield from below(f"{name} {word}", inner)

    for entry in installed_commands():
        yield from below(entry.name, entry.command())


def first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


@pytest.mark.long
def test_first_line_of_every_help_is_a_short_sentence() -> None:
    seen: dict[str, str] = {}
    problems = []
    summaries = [(entry.name, entry.summary) for entry in installed_commands()]
    for name, line in [*summaries, *((name, first_line(one.help)) for name, one in commands())]:
        if len(line) > MAX_LINE_CHARS or not line.endswith("."):
            problems.append(f"{name}: not one line that ends with a full stop: {line!r}")
        if line.split(" ")[0].strip(",") not in VERBS:
            problems.append(f"{name}: does not begin with a verb: {line!r}")
        if INTERNAL.search(line):
            problems.append(f"{name}: an internal word: {line!r}")
        if seen.setdefault(line, name) != name:
            problems.append(f"{name}: the same as {seen[line]}: {line!r}")
    assert not problems, "\n".join(problems)


@pytest.mark.long
def test_no_python_type_stands_in_a_help() -> None:
    problems = []
    for name, command in commands():
        context = command.make_context(name, [], resilient_parsing=True)
        text = command.get_help(context)
        if PYTHON_TYPE.search(text):
            problems.append(f"{name}: {text}")
        for parameter in command.get_params(context):
            help_text = str(getattr(parameter, "help", "") or "")
            if not getattr(parameter, "hidden", False) and not help_text.endswith((".", "`")):
                problems.append(f"{name} {parameter.name}: no sentence: {help_text!r}")
    assert not problems, "\n".join(problems)


def test_help_lists_the_commands_in_groups(hello_machine: Machine) -> None:
    text = hello_machine.run("--help").out
    sections = re.findall(r"(?m)^(\w[\w ]*):$", text)
    assert sections[1:4] == ["Talk", "Set up", "Permissions and people"]
    talk = text.partition("Talk:\n")[2].partition("\n\n")[0]
    assert [row.split()[0] for row in talk.splitlines()][:3] == ["chat", "run", "sessions"]
    assert "..." not in text.partition("Talk:")[2]


class Clock(Plugin):
    """Has a command."""

    name = "clock"

    @hookimpl
    def register_cli(self, register: Any) -> None:
        register("o-clock", self.tell)

    def tell(self) -> None:
        """Print the time."""


def test_command_of_another_plugin_is_listed_below_more(harness: Callable[..., Harness]) -> None:
    text = harness(Clock).cli("--help").stdout
    assert re.search(r"\nMore:\n  o-clock +Print the time\.", text)
