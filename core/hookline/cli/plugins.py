"""``hookline plugins list``; plugins add the other commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from hookline_hookspecs import Inspection

from .shared import Json, out, out_json, table, with_runtime

if TYPE_CHECKING:
    from hookline.runtime import Runtime

app = typer.Typer(help="List plugins and switch them on or off.", no_args_is_help=True)
FIELDS = ("name", "dist", "version", "kind", "state", "reason", "hooks")


@app.command("list")
def list_(json: Json = False) -> None:
    """List every plugin that is installed or in the config, with its state and the reason."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        found = await runtime.engine.services[Inspection].plugins()
        return [{field: row[field] for field in FIELDS} for row in found]

    rows = with_runtime(work)
    heading = ["name", "state", "version", "hooks", "reason"]
    cells = [[r["name"], r["state"], r["version"], len(r["hooks"]), r["reason"]] for r in rows]
    out_json(rows) if json else out(table([heading, *cells]))
