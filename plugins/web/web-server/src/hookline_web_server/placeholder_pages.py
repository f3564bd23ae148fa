"""Placeholders for the standard pages of plugins that are off, so that the navigation stays the
same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from hookline_hookspecs import Page, Route
from hookline_hookspecs.web import N_, Code, Link, Row, SiteRoute, Table, View, t

PAGES = (
    (N_("Sessions"), "/sessions", 20, "inspect"),
    (N_("Plugins"), "/plugins", 30, "configure"),
    (N_("Insights"), "/insights", 40, "insights"),
    (N_("Memory"), "/memory", 50, "memory"),
    (N_("Skills"), "/skills", 60, "skills"),
    (N_("Schedule"), "/schedule", 70, "scheduler"),
    (N_("People"), "/people", 80, "access"),
    (N_("Doctor"), "/doctor", 90, "inspect"),
)
"""Title, path, order and plugin of each standard page."""


def placeholder_pages() -> Iterable[Route]:
    """Return a route for each page, which says how to switch its plugin on."""
    for title, path, order, plugin in PAGES:
        show = partial(_show, title, plugin)
        yield SiteRoute("GET", path, show, page=Page(title, order=order))


async def _show(title: str, plugin: str, request: Any) -> View:
    row = Row([Link(plugin, f"/plugins/{plugin}"), Code(f"hookline plugins enable {plugin}")])
    subtitle = t("This page needs the plugin {plugin}, which is off.", plugin=plugin)
    return View(t(title), [Table([t("Plugin"), t("Command")], [row])], subtitle)
