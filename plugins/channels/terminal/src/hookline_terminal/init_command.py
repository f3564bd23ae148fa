"""Set up Hookline: model, key and channels.

``hookline init``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.cli import command_line, with_plugin

if TYPE_CHECKING:
    from . import Terminal

WORKS_WHEN_OFF = True


@with_plugin
def init(
    plugin: Terminal,
    no_input: Annotated[
        bool, typer.Option("--no-input", help="Do not prompt. Only create missing files.")
    ] = False,
) -> None:
    """Set up the model, API key and channels. Run it again to change them."""
    from .setup import initialise

    initialise(plugin.host, command_line().configuration, ask=not no_input)
