"""List every plugin, its state and the reason.

``hookline plugins list``. Where Hookline does not start, those that are installed.
"""

from __future__ import annotations

from typing import Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import command_line

from ..listing import every_plugin, installed
from ..output import tell
from ..plugin_info import print_list

WORKS_WHEN_OFF = True


def list_plugins(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List every plugin that is installed or in the config, with its state and the reason."""
    try:
        rows = command_line().run(lambda plugin: every_plugin(plugin.host))
    except CommandError as error:
        tell(error.text)
        rows = installed()
    print_list(rows, json)
