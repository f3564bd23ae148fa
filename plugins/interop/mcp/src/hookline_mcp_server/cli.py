"""Serve Hookline over MCP to editors and other agents.

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
    typer.Option("--http", metavar="HOST:PORT", help="Serve HTTP here, such as 127.0.0.1:8766."),
]
NewToken = Annotated[
    bool,
    typer.Option("--new-token", help="With --http: create a new token and revoke the old one."),
]


@with_plugin
async def serve(plugin: McpServer, http: Http = None, new_token: NewToken = False) -> None:
    """Serve MCP over standard input and output, or over HTTP."""
    from .transports import serve_http, serve_stdio

    if http is not None:
        await serve_http(plugin, http, fresh=new_token)
        return
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            "hookline mcp serve is meant to be started by an editor (see docs/mcp.md). To serve "
            "HTTP, add --http 127.0.0.1:8766.\n"
        )
    await serve_stdio(plugin)
