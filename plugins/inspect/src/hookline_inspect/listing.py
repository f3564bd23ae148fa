"""Every plugin there is: what core tells of it, its package and its failures."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from hookline_hookspecs import Host

from .failures import add_failures
from .service import inspection


async def every_plugin(host: Host) -> list[dict[str, Any]]:
    """The plugins that are installed or that config names, those of core in call order.

    Each has ``name dist version kind state reason hooks errors`` and, if core knows it,
    ``warnings``.
    """
    known = {row["name"]: row for row in await inspection(host).plugins()}
    dists = {point.name: point.dist for point in entry_points(group="hookline.plugins")}
    rows = [
        _package(name, dists.get(name)) | known.get(name, _off())
        for name in [*known, *sorted(dists.keys() - known)]
    ]
    await add_failures(host, rows)
    return rows


def installed() -> list[dict[str, Any]]:
    """The installed plugins alone, for a home on which Hookline does not start."""
    reason = "Hookline does not start, so no plugin is on"
    return [
        _package(point.name, point.dist) | _off() | {"reason": reason, "errors": []}
        for point in sorted(entry_points(group="hookline.plugins"), key=lambda one: one.name)
    ]


def _package(name: str, dist: Any) -> dict[str, Any]:
    meta = dist.metadata if dist else {}  # each look at it parses the file again
    return {"name": name, "dist": meta.get("Name"), "version": meta.get("Version")}


def _off() -> dict[str, Any]:
    reason = "installed, not named in config.yaml"
    return {"kind": "third-party", "state": "off", "reason": reason, "hooks": []}
