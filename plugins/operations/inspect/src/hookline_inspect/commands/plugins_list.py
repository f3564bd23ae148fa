"""List every plugin with its state.

``hookline plugins list``. If Hookline does not start, it lists the installed plugins.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import CommandLine, command_line

from ..output import print_error
from ..plugin_info import print_list
from ..plugin_listing import all_plugins, installed_plugins

if TYPE_CHECKING:
    from .. import Inspect

WORKS_WHEN_OFF = True


def list_plugins(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List every plugin with its state, and the reason if it is not on."""
    line = command_line()
    try:
        rows = line.run(partial(_rows, line))
    except CommandError as error:
        print_error(error.text)
        rows = installed_plugins()
    print_list(rows, json)


async def _rows(line: CommandLine, plugin: Inspect) -> list[dict[str, Any]]:
    _ = line.commands  # plugins register theirs; one that is refused is a failure
    return await all_plugins(plugin.host)
