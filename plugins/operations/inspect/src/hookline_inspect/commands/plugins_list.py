"""List every plugin with its state.

``hookline plugins list``. If Hookline does not start, it lists the installed plugins.
"""

from __future__ import annotations

from typing import Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import command_line

from ..output import print_error
from ..plugin_info import print_list
from ..plugin_listing import all_plugins, installed_plugins

WORKS_WHEN_OFF = True


def list_plugins(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List every installed or configured plugin, its state, and the reason if it is not on."""
    try:
        rows = command_line().run(lambda plugin: all_plugins(plugin.host))
    except CommandError as error:
        print_error(error.text)
        rows = installed_plugins()
    print_list(rows, json)
