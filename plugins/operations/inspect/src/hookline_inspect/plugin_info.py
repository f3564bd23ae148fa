"""What ``hookline plugins list``, ``info`` and ``purge`` show and do."""

from __future__ import annotations

import difflib
import json as jsonlib
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any, NoReturn

from hookline_hookspecs import HOOKS, HooklineError, Host, Inspection

from .listing import every_plugin, installed, not_installed
from .output import columns, confirm, folded, out, out_json, stop, table, tokens
from .service import inspection
from .sessions import when

LISTED = ("name", "dist", "version", "kind", "state", "reason", "hooks")
NOTHING = {"tables": {}, "values": 0, "bytes": 0}


def show_package(name: str, json: bool) -> None:
    """Show what is known of a plugin where Hookline does not start: its package."""
    rows = {row["name"]: row for row in installed()}
    if name not in rows:
        _no_plugin(name, rows)
    found = {**rows[name], **_package(name), "storage": NOTHING, "settings": {}}
    out_json(found) if json else _print(found)


def print_list(every: Iterable[Mapping[str, Any]], json: bool) -> None:
    """Print the rows of plugins as a table or as JSON."""
    rows = list(every)
    if json:
        out_json([{field: row[field] for field in LISTED} for row in rows])
        return
    for line in table(["name", "state", "what"], [_listed(row) for row in rows]).split("\n"):
        out(_fitted(line))
    for row in rows:
        if row["reason"] and row["state"] != "off":
            out(folded(f"{row['name']}: {row['reason']}", 2))
    if missing := not_installed():
        told = f"Not installed: {', '.join(missing)}. To install: hookline plugins enable NAME"
        out(folded(told, 2))


def _listed(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Name, state and what the plugin does, in the words of its package."""
    words = (row["summary"] or "").removeprefix("Hookline plugin: ").split("\n")[0]
    return row["name"], row["state"], words


def _fitted(line: str) -> str:
    width = columns()
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


async def show(host: Host, name: str, json: bool) -> None:
    """Everything about one plugin, installed or named in config.yaml."""
    core = inspection(host)
    plugins = {row["name"]: row for row in await every_plugin(host)}
    if name not in plugins:
        _no_plugin(name, plugins)
    found = _described(plugins[name] | _package(name) | core.plugin_details(name))
    found["storage"] = await _storage(core, name)
    if json:
        out_json(found)
    else:
        _print(found)


async def purge(host: Host, name: str, yes: bool) -> None:
    """Delete everything that a plugin has stored, whether or not it is still installed."""
    core = inspection(host)
    plugins = [row["name"] for row in await every_plugin(host)]
    if name not in plugins and not any((await _storage(core, name)).values()):
        _no_plugin(name, plugins)
    if not yes:
        confirm(f"Delete everything that plugin {name} has stored in {host.home}?")
    await core.purge(name)
    out(f"Deleted what {name} had stored.")


def _no_plugin(name: str, plugins: Iterable[str]) -> NoReturn:
    near = difflib.get_close_matches(name, list(plugins), 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    stop(f"there is no plugin {name}.{hint} `hookline plugins list` shows all plugins")


async def _storage(core: Inspection, name: str) -> dict[str, Any]:
    try:
        used = await core.storage_used(name)
    except HooklineError:
        return dict(NOTHING)  # without the package of the storage, nothing has been stored
    return {"tables": dict(used.tables), "values": used.values, "bytes": used.bytes}


def _package(name: str) -> dict[str, Any]:
    """``home_page`` and ``summary`` of the package that brings the plugin, where it has them."""
    points = entry_points(group="hookline.plugins", name=name.partition(":")[0])
    dist = next((one.dist for one in points), None)
    if dist is None:
        return {"home_page": None, "summary": None}
    meta: Any = dist.metadata  # each look at it parses the file again
    urls = meta.get_all("Project-URL") or [""]
    home_page = meta.get("Home-page") or urls[0].rpartition(", ")[2] or None
    return {"home_page": home_page, "summary": meta.get("Summary")}


def _described(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a plugin in the shape that is shown."""
    tools = [f"{name} ({tokens(schema)} tokens)" for name, schema in row.get("tools", ())]
    hooks = [f"{hook} ({HOOKS[hook].kind})" for hook in row["hooks"]]
    return {**row, "hooks": hooks, "tools": tools}


def _print(found: Mapping[str, Any]) -> None:
    apart = ("settings", "schema", "storage", "errors")
    for key, value in found.items():
        if key not in apart:
            listed = ", ".join(map(str, value)) or "none" if isinstance(value, list) else value
            out(f"{key}: {'' if listed is None else listed}".rstrip())
    out(f"storage: {_kept(found['storage'])}")
    errors = [[when(one["at"]), one["hook"], one["reason"]] for one in found["errors"]]
    out("errors: none" if not errors else f"errors:\n{table(['at', 'hook', 'reason'], errors)}")
    if rows := _settings(found):
        out(f"settings:\n{table(['key', 'value', 'default', 'what'], rows)}")


def _kept(storage: Mapping[str, Any]) -> str:
    tables = [f"{name} ({rows} rows)" for name, rows in storage["tables"].items()]
    return ", ".join([*tables, f"{storage['values']} values", f"{storage['bytes']} bytes"])


def _settings(found: Mapping[str, Any]) -> list[list[str]]:
    """Key, present value, default and description of every setting; secrets come masked."""
    schema, settings = found.get("schema") or {}, found.get("settings")
    given = settings if isinstance(settings, dict) else {}
    fields = {key: {} for key in given} | schema.get("properties", {})
    return [
        [
            key,
            _value(given.get(key, field.get("default"))),
            _value(field.get("default")),
            field.get("description", ""),
        ]
        for key, field in fields.items()
    ]


def _value(value: Any) -> str:
    return "" if value is None else jsonlib.dumps(value, ensure_ascii=False, default=str)
