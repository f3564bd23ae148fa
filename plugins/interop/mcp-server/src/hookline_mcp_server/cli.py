"""``hookline mcp serve``. Imported when the command line is built, because of Typer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.hooks.boot import RegisterCli

if TYPE_CHECKING:
    from .parts import Parts

Http = Annotated[
    str | None,
    typer.Option("--http", metavar="HOST:PORT", help="Serve HTTP there, such as 127.0.0.1:8766."),
]
Fresh = Annotated[
    bool, typer.Option("--new-token", help="With --http: make a new token; the old one ends.")
]


def register_serve(plugin: Parts, register: RegisterCli) -> None:
    """Register the command."""

    async def serve(http: Http = None, new_token: Fresh = False) -> None:
        """Be an MCP server: for the program that starts this one, or over HTTP."""
        from .serving import over_http, over_stdio

        if http is None:
            if sys.stdin is not None and sys.stdin.isatty():
                sys.stderr.write(
                    "hookline mcp serve is for an editor to start (docs/mcp.md shows how), or give "
                    "--http 127.0.0.1:8766.\n"
                )
            await over_stdio(plugin)
        else:
            await over_http(plugin, http, fresh=new_token)

    register("mcp serve", serve, help="Be an MCP server, for editors and other agents.")
