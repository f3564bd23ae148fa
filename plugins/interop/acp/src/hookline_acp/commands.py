"""Slash commands as an editor offers them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acp import schema
from hookline_hookspecs import Command

NOT_HERE = frozenset({"/copy", "/expand", "/resume", "/approve", "/deny"})
"""Commands of the terminal's own screen, and what an editor has its own ways for."""


def advertised(commands: Iterable[Command]) -> list[schema.AvailableCommand]:
    """Return the commands that are of use in an editor, without their slashes."""
    return [_shown(one) for one in commands if one.name not in NOT_HERE]


def _shown(command: Command) -> schema.AvailableCommand:
    """A command; what its help shows after its name is the hint for its argument."""
    written = re.search(rf"{re.escape(command.name)} ([^.;,:)]+)", command.help)
    hint = written[1].strip() if written else "more, if the command takes any"
    return schema.AvailableCommand(
        name=command.name.removeprefix("/"),
        description=command.help or command.name,
        input=schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=hint)),
    )
