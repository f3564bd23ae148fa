"""The slash commands that an editor offers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acp import schema
from hookline_hookspecs import Command

HIDDEN_COMMANDS = frozenset({"/copy", "/expand", "/resume", "/approve", "/deny"})
"""Commands of the terminal's screen, and commands that an editor has buttons for."""


def available_commands(commands: Iterable[Command]) -> list[schema.AvailableCommand]:
    """Return the commands that are useful in an editor, without their slashes."""
    return [_describe(one) for one in commands if one.name not in HIDDEN_COMMANDS]


def _describe(command: Command) -> schema.AvailableCommand:
    """Convert a command; the text after its name in its help becomes the argument's hint."""
    written = re.search(rf"{re.escape(command.name)} ([^.;,:)]+)", command.help)
    hint = written[1].strip() if written else "arguments, if any"
    return schema.AvailableCommand(
        name=command.name.removeprefix("/"),
        description=command.help or command.name,
        input=schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=hint)),
    )
