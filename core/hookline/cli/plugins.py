"""``hookline plugins list``, ``enable`` and ``disable``; plugins add the other commands."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import typer
from hookline_hookspecs import Inspection

from .shared import Json, err, load_config, out, out_json, set_config, stop, table, with_runtime

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


def _dists() -> dict[str, Any]:
    return {ep.name: ep.dist for ep in entry_points(group="hookline.plugins")}


@app.command()
def enable(name: str) -> None:
    """Switch a plugin on in config.yaml."""
    for kind, setting in (("provider", f"model: {name}/MODEL"), ("store", f"store: {name}")):
        if name not in _dists() and entry_points(group=f"hookline.{kind}s", name=name):
            stop(f"{name} is a {kind}, not a plugin; choose it with `{setting}` in config.yaml")
    _switch(name, True)
    if name not in _dists():
        err(f"{name} is not installed yet: pip install hookline-{name}")


@app.command()
def disable(name: str) -> None:
    """Switch a plugin off in config.yaml, keeping its settings."""
    _switch(name, False)


def _switch(name: str, enabled: bool) -> None:
    known = name in load_config().plugins or name in _dists()
    if not enabled and not known:
        stop(f"there is no plugin {name}; `hookline plugins list` shows those there are")
    path = set_config(f"plugins.{name}", "true" if enabled else "false")
    out(f"{name} is {'on' if enabled else 'off'} in {path}")
