"""Serve an editor such as Zed as its agent (Agent Client Protocol).

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
MODE = "How freely new sessions act: ask, auto or plan. The editor can change it."


def acp(
    model: Annotated[str | None, typer.Option(help="The model, as provider/model.")] = None,
    mode: Annotated[str, typer.Option(help=MODE)] = "",
) -> None:
    """Serve the editor that starts this program as its agent."""
    if mode not in ("", "ask", "auto", "plan"):
        raise CommandError(f"editors have no mode {mode!r}. Choose ask, auto or plan")
    from .pipes import take_stdio

    # Before anything else runs: whatever prints must not print into the protocol.
    try:
        descriptors = take_stdio()
    except OSError:
        raise CommandError(
            "an editor starts this command, with pipes for standard input and output"
        ) from None
    if os.isatty(descriptors[0]):
        sys.stderr.write("hookline acp is started by an editor; docs/acp.md shows how.\n")
    from .serving import serve

    command_line().run(lambda plugin: serve(plugin.host, descriptors, mode), model=model)
