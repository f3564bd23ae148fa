"""Serve Hookline over MCP, to editors and other agents.

``hookline mcp serve``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.cli import with_plugin

if TYPE_CHECKING:
    from .plugin import McpServer

WORKS_WHEN_OFF = True
Http = Annotated[
    str | None,
    typer.Option("--http", metavar="HOST:PORT", help="Serve HTTP, such as on 127.0.0.1:8766."),
]
NewToken = Annotated[
    bool, typer.Option("--new-token", help="With --http: replace the token; the old one ends.")
]


@with_plugin
async def serve(plugin: McpServer, http: Http = None, new_token: NewToken = False) -> None:
    """Serve MCP to the program that starts this one, or over HTTP."""
    from .serving import over_http, over_stdio

    if http is not None:
        await over_http(plugin, http, fresh=new_token)
        return
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            "hookline mcp serve is started by an editor (docs/mcp.md shows how). To serve HTTP, "
            "add --http 127.0.0.1:8766.\n"
        )
    await over_stdio(plugin)
