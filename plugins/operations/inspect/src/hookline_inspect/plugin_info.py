"""Implements ``hookline plugins list``, ``info`` and ``purge``."""

from __future__ import annotations

import difflib
import json as jsonlib
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any, NoReturn

from hookline_hookspecs import HOOKS, HooklineError, Host, Inspection

from .output import (
    confirm,
    exit_with_error,
    print_json,
    print_text,
    table,
    terminal_columns,
    tokens,
    wrap,
)
from .plugin_listing import all_plugins, installed_plugins, missing_own_plugins
from .sessions import local_time

LIST_FIELDS = ("name", "dist", "version", "kind", "state", "reason", "hooks")
NO_STORAGE = {"tables": {}, "values": 0, "bytes": 0}


def show_package(name: str, json: bool) -> None:
    """Show a plugin's package, for a home on which Hookline does not start."""
    rows = {row["name"]: row for row in installed_plugins()}
    if name not in rows:
        _exit_unknown_plugin(name, rows)
    found = {**rows[name], **_package(name), "storage": NO_STORAGE, "settings": {}}
    print_json(found) if json else _print_plugin(found)


def print_list(every: Iterable[Mapping[str, Any]], json: bool) -> None:
    """Print the rows of plugins as a table or as JSON."""
    rows = list(every)
    if json:
        print_json([{field: row[field] for field in LIST_FIELDS} for row in rows])
        return
    for line in table(["name", "state", "what"], [_list_row(row) for row in rows]).split("\n"):
        print_text(_fit_terminal(line))
    for row in rows:
        if row["reason"] and row["state"] != "off":
            print_text(wrap(f"{row['name']}: {row['reason']}", 2))
    if missing := missing_own_plugins():
        text = f"Not installed: {', '.join(missing)}. To install: hookline plugins enable NAME"
        print_text(wrap(text, 2))


def _list_row(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Name, state and the summary of the plugin's package."""
    words = (row["summary"] or "").removeprefix("Hookline plugin: ").split("\n")[0]
    return row["name"], row["state"], words


def _fit_terminal(line: str) -> str:
    width = terminal_columns()
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


async def show(host: Host, name: str, json: bool) -> None:
    """Show everything about one plugin that is installed or named in config.yaml."""
    core = host.services[Inspection]
    plugins = {row["name"]: row for row in await all_plugins(host)}
    if name not in plugins:
        _exit_unknown_plugin(name, plugins)
    found = _displayed(plugins[name] | _package(name) | core.plugin_details(name))
    found["storage"] = await _storage(core, name)
    if json:
        print_json(found)
    else:
        _print_plugin(found)


async def purge(host: Host, name: str, yes: bool) -> None:
    """Delete everything that a plugin has stored, whether or not it is still installed."""
    core = host.services[Inspection]
    plugins = [row["name"] for row in await all_plugins(host)]
    if name not in plugins and not any((await _storage(core, name)).values()):
        _exit_unknown_plugin(name, plugins)
    if not yes:
        confirm(f"Delete everything that plugin {name} has stored in {host.home}?")
    await core.purge(name)
    print_text(f"Deleted what {name} had stored.")


def _exit_unknown_plugin(name: str, plugins: Iterable[str]) -> NoReturn:
    near = difflib.get_close_matches(name, list(plugins), 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    exit_with_error(f"unknown plugin {name}.{hint} `hookline plugins list` shows all plugins")


async def _storage(core: Inspection, name: str) -> dict[str, Any]:
    try:
        used = await core.storage_used(name)
    except HooklineError:
        return dict(NO_STORAGE)  # no store is installed, so nothing has been stored
    return {"tables": dict(used.tables), "values": used.values, "bytes": used.bytes}


def _package(name: str) -> dict[str, Any]:
    """``home_page`` and ``summary`` of the plugin's package, or None."""
    points = entry_points(group="hookline.plugins", name=name.partition(":")[0])
    dist = next((point.dist for point in points), None)
    if dist is None:
        return {"home_page": None, "summary": None}
    meta: Any = dist.metadata  # each access parses the file again
    urls = meta.get_all("Project-URL") or [""]
    home_page = meta.get("Home-page") or urls[0].rpartition(", ")[2] or None
    return {"home_page": home_page, "summary": meta.get("Summary")}


def _displayed(row: Mapping[str, Any]) -> dict[str, Any]:
    """A plugin's row as it is displayed."""
    tools = [f"{name} ({tokens(schema)} tokens)" for name, schema in row.get("tools", ())]
    hooks = [f"{hook} ({HOOKS[hook].kind})" for hook in row["hooks"]]
    return {**row, "hooks": hooks, "tools": tools}


def _print_plugin(found: Mapping[str, Any]) -> None:
    separate = ("settings", "schema", "storage", "errors")
    for key, value in found.items():
        if key not in separate:
            listed = ", ".join(map(str, value)) or "none" if isinstance(value, list) else value
            print_text(f"{key}: {'' if listed is None else listed}".rstrip())
    print_text(f"storage: {_storage_text(found['storage'])}")
    errors = [
        [local_time(failure["at"]), failure["hook"], failure["reason"]]
        for failure in found["errors"]
    ]
    print_text(
        "errors: none" if not errors else f"errors:\n{table(['at', 'hook', 'reason'], errors)}"
    )
    if rows := _setting_rows(found):
        print_text(f"settings:\n{table(['key', 'value', 'default', 'what'], rows)}")


def _storage_text(storage: Mapping[str, Any]) -> str:
    tables = [f"{name} ({rows} rows)" for name, rows in storage["tables"].items()]
    return ", ".join([*tables, f"{storage['values']} values", f"{storage['bytes']} bytes"])


def _setting_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """Key, value, default and description of every setting; core has masked secrets."""
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
