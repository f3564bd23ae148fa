"""Run every enabled channel until stopped.

``hookline gateway``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.cli import with_plugin

if TYPE_CHECKING:
    from .. import Gateway


@with_plugin
async def gateway(
    plugin: Gateway,
    no_turns: Annotated[
        bool,
        typer.Option("--no-turns", help="Only receive and send messages; workers run the turns."),
    ] = False,
) -> None:
    """Run every enabled channel until stopped, with Ctrl+C or a signal."""
    await plugin.gateway(turns=not no_turns)
