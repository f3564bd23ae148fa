"""Show everything about one plugin.

``hookline plugins info``. If Hookline does not start, it shows the plugin's package only.
"""

from __future__ import annotations

from typing import Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import command_line

from ..output import print_error
from ..plugin_info import show, show_package

WORKS_WHEN_OFF = True


def info(
    name: Annotated[str, typer.Argument(help="The plugin.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a plugin's hooks, tools and their cost, settings, storage and errors."""
    try:
        command_line().run(lambda plugin: show(plugin.host, name, json))
    except CommandError as error:
        print_error(error.text)
        show_package(name, json)
