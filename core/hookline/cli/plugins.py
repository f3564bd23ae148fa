"""``hookline plugins …``."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import (
    Json,
    err,
    home,
    load_config,
    out,
    out_json,
    ready_home,
    stop,
    table,
    with_runtime,
)

if TYPE_CHECKING:
    from hookline.plugins import Loading
    from hookline.runtime import Runtime

app = typer.Typer(help="See plugins and switch them.", no_args_is_help=True)


@app.command("list")
def list_(json: Json = False) -> None:
    """Every plugin that config names or that is installed, with its state and the reason."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        dists = _dists()
        loadings = runtime.plugins.loadings
        known = [n for n, one in loadings.items() if n in dists or one.entry.named]
        names = dict.fromkeys([*known, *sorted(dists)])
        return [_row(name, loadings.get(name), dists.get(name)) for name in names]

    rows = with_runtime(work)
    heading = ["name", "state", "version", "hooks", "reason"]
    cells = [[r["name"], r["state"], r["version"], len(r["hooks"]), r["reason"]] for r in rows]
    out_json(rows) if json else out(table([heading, *cells]))


def _dists() -> dict[str, Any]:
    return {ep.name: ep.dist for ep in entry_points(group="hookline.plugins")}


def _row(name: str, loading: Loading | None, dist: Any) -> dict[str, Any]:
    from hookline.plugins import hooks_of

    unnamed = "installed, not named in config.yaml"
    return {
        "name": name,
        "dist": dist.name if dist else None,
        "version": dist.version if dist else None,
        "kind": "standard" if loading and loading.entry.standard else "third-party",
        "state": loading.state if loading else "off",
        "reason": loading.reason if loading else unnamed,
        "hooks": hooks_of(loading.plugin) if loading and loading.plugin else [],
    }


@app.command()
def info(name: str, json: Json = False) -> None:
    """One plugin: version, hooks, tools and their cost, settings."""

    async def work(runtime: Runtime) -> dict[str, Any]:
        loading, dist = runtime.plugins.loadings.get(name), _dists().get(name)
        if dist is None and (loading is None or not loading.entry.named):
            stop(f"there is no plugin {name}; `hookline plugins list` shows those there are")
        row = _row(name, loading, dist)
        return row | _details(runtime, loading, dist) if loading else row

    found = with_runtime(work)
    if json:
        out_json(found)
        return
    for key, value in found.items():
        listed = ", ".join(map(str, value)) or "none" if isinstance(value, list) else value
        out(f"{key}: {listed}")


def _details(runtime: Runtime, loading: Loading, dist: Any) -> dict[str, Any]:
    from hookline_hookspecs import HOOKS

    from hookline.cli.inspection import schema_json
    from hookline.config import effective
    from hookline.plugins import hooks_of
    from hookline.prompt import tokens

    plugin, name = loading.plugin, loading.entry.name
    hooks = hooks_of(plugin) if plugin else []
    settings = effective(runtime.loaded).get("plugins", {}).get(name, {})
    return {
        "home_page": dist.metadata.get("Home-page") if dist else None,
        "summary": dist.metadata.get("Summary") if dist else None,
        "warnings": loading.warnings,
        "hooks": [f"{hook} ({HOOKS[hook].kind})" for hook in hooks],
        "tools": [f"{t.name} ({tokens(schema_json(t.schema))} tokens)" for t in loading.tools],
        "commands": [command.name for command in loading.commands],
        "settings": settings,
        "schema": plugin.config_class.model_json_schema() if plugin else {},
    }


@app.command()
def enable(name: str) -> None:
    """Switch a plugin on in config.yaml."""
    _switch(name, True)
    if name not in _dists():
        err(f"{name} is not installed yet: pip install hookline-{name}")


@app.command()
def disable(name: str) -> None:
    """Switch a plugin off in config.yaml; its settings stay."""
    _switch(name, False)


def _switch(name: str, enabled: bool) -> None:
    from hookline.config import ConfigError, set_plugin

    loaded = load_config()
    known = name in loaded.plugins or name in _dists()
    if not enabled and not known:
        stop(f"there is no plugin {name}; `hookline plugins list` shows those there are")
    ready_home()
    try:
        for warning in set_plugin(loaded.path, name, enabled, os.environ) or ():
            err(f"hookline: warning: {warning}")
    except ConfigError as error:
        stop(str(error))
    out(f"{name} is {'on' if enabled else 'off'} in {loaded.path}")


@app.command()
def purge(
    name: str, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Remove everything a plugin has stored."""
    from .shared import confirmed

    async def work(runtime: Runtime) -> None:
        from hookline.storage import PluginStorage

        confirmed(f"Remove everything that plugin {name} has stored in {home()}?", yes)
        await PluginStorage(runtime.store, name, None, home()).purge()
        out(f"What {name} stored is gone.")

    with_runtime(work)
