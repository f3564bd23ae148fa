"""Show gateways, workers and queued messages.

``hookline cluster``.
"""

from __future__ import annotations

import json as jsonlib
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs.cli import with_plugin

if TYPE_CHECKING:
    from ..plugin import ClusterPlugin

app = typer.Typer(no_args_is_help=True)


@app.callback()
def group() -> None:
    """Show gateways, workers and queued messages."""


@app.command("status")
@with_plugin
async def status(
    plugin: ClusterPlugin, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Show gateways, workers and the number of queued messages."""
    found = await plugin.member.status()
    if json:
        typer.echo(jsonlib.dumps(found))
        return
    for line in _table(found):
        typer.echo(line)


def _table(found: dict[str, Any]) -> list[str]:
    lines = []
    for node in found["nodes"]:
        beat = datetime.fromtimestamp(node["beat"]).strftime("%H:%M:%S")
        lines.append(
            f"{node['kind']:<8}  {node['id']}  {node['turns']:>4} chats  {beat}  {node['place']}"
        )
    if not lines:
        lines.append(
            "No process is running. Run `hookline gateway --no-turns` and `hookline worker`."
        )
    lines.append(f"{found['waiting']} messages waiting, {found['open']} turns running.")
    return lines
