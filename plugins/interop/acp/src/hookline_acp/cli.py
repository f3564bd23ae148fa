"""Serve editors such as Zed over the Agent Client Protocol.

``hookline acp``.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import command_line

WORKS_WHEN_OFF = True
MODE = "Mode of new sessions: ask, auto or plan. The editor can change it."


def acp(
    model: Annotated[
        str | None, typer.Option(metavar="PROVIDER/MODEL", help="Use this model.")
    ] = None,
    mode: Annotated[str, typer.Option(help=MODE)] = "",
) -> None:
    """Serve the editor that started this process over the Agent Client Protocol."""
    if mode not in ("", "ask", "auto", "plan"):
        raise CommandError(f"unknown mode {mode!r}. Choose ask, auto or plan")
    from .stdio import take_stdio

    # First of all, so that nothing prints into the protocol.
    try:
        descriptors = take_stdio()
    except OSError:
        raise CommandError(
            "stdin or stdout is closed. This command is meant to be started by an editor"
        ) from None
    if os.isatty(descriptors[0]):
        sys.stderr.write("hookline acp is meant to be started by an editor: see docs/acp.md.\n")
    from .agent_server import serve

    command_line().run(lambda plugin: serve(plugin.host, descriptors, mode), model=model)
