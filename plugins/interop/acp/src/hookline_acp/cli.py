"""``hookline acp``. Imported when the command line is built, because of Typer."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.hooks.boot import RegisterCli

MODE = "How freely new sessions act: ask, auto or plan; the editor changes it."


def register_acp(register: RegisterCli) -> None:
    """Register the command."""

    def acp(
        ctx: typer.Context,
        model: Annotated[str | None, typer.Option(help="provider/model.")] = None,
        mode: Annotated[str, typer.Option(help=MODE)] = "",
    ) -> None:
        """Be the agent of the editor that starts this program."""
        if mode not in ("", "ask", "auto", "plan"):
            raise CommandError(f"there is no mode {mode!r} for an editor; choose ask, auto or plan")
        from .pipes import take_stdio

        # Before anything else runs: whatever prints must not print into the protocol.
        try:
            descriptors = take_stdio()
        except OSError:
            raise CommandError(
                "an editor starts this, with pipes for standard input and output"
            ) from None
        if os.isatty(descriptors[0]):
            sys.stderr.write("hookline acp is for an editor to start; docs/acp.md shows how.\n")
        from .serving import serve

        ctx.obj(lambda host: serve(host, descriptors, mode), model=model)

    register("acp", acp, help="Be the agent of an editor, such as Zed (Agent Client Protocol).")
