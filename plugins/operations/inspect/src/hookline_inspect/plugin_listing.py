"""Lists all plugins, with core's state, their packages and their failures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, entry_points, metadata
from typing import Any

from hookline_hookspecs import Host, Inspection
from hookline_hookspecs.cli import current

from .failures import add_failures

_OWN = re.compile(r"hookline-([a-z0-9-]+)")


async def all_plugins(host: Host) -> list[dict[str, Any]]:
    """All plugins that are installed or named in config; those that core knows come in call order.

    Each row has ``name dist version summary kind state reason hooks errors`` and, if core knows it,
    ``warnings``.
    """
    known = {row["name"]: row for row in await host.services[Inspection].plugins()}
    dists = {point.name: point.dist for point in entry_points(group="hookline.plugins")}
    rows = [
        _package(name, dists.get(name.partition(":")[0])) | known.get(name, _off())
        for name in [*known, *sorted(dists.keys() - known)]
    ]
    add_unused_commands(rows)
    await add_failures(host, rows)
    return rows


def add_unused_commands(rows: Iterable[dict[str, Any]]) -> None:
    """Add a warning to the row of each plugin that has a command which another plugin has, too.

    A plugin without another reason gets it as the reason.
    """
    line = current.get(None)
    unused: dict[str, list[str]] = {}
    for command in line.commands if line is not None else ():
        for plugin in command.overrides:
            unused.setdefault(plugin, []).append(
                f"its command `hookline {command.name}` is not used: plugin {command.plugin} has "
                "one of this name"
            )
    for row in rows:
        if found := unused.get(row["name"]):
            told = [f"plugin {row['name']}: {text}" for text in found]
            row["warnings"] = [*row.get("warnings", ()), *told]
            row["reason"] = row["reason"] or "; ".join(found)


def installed_plugins() -> list[dict[str, Any]]:
    """Only the installed plugins, for a home on which Hookline does not start."""
    reason = "Hookline does not start, so no plugin is on"
    return [
        _package(point.name, point.dist) | _off() | {"reason": reason, "errors": []}
        for point in sorted(entry_points(group="hookline.plugins"), key=lambda item: item.name)
    ]


def missing_own_plugins() -> list[str]:
    """The names of Hookline's own plugins that are not installed, from its extras."""
    try:
        needed = metadata("hookline").get_all("Requires-Dist") or []
    except PackageNotFoundError:
        return []
    names = {match[1] for text in needed if (match := _OWN.match(text))}
    return sorted(name for name in names if not _is_dist_installed(f"hookline-{name}"))


def _is_dist_installed(dist: str) -> bool:
    try:
        distribution(dist)
    except PackageNotFoundError:
        return False
    return True


def _package(name: str, dist: Any) -> dict[str, Any]:
    meta = dist.metadata if dist else {}  # each access parses the file again
    return {
        "name": name,
        "dist": meta.get("Name"),
        "version": meta.get("Version"),
        "summary": meta.get("Summary"),
    }


def _off() -> dict[str, Any]:
    reason = "installed, not in config.yaml"
    return {"kind": "third-party", "state": "off", "reason": reason, "hooks": []}
