"""Placeholders for the standard pages of plugins that are off, so that the navigation stays the
same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from hookline_hookspecs import Page, Route
from hookline_hookspecs.web import N_, Code, Link, Row, SiteRoute, Table, View, t

PAGES = (
    (Page(N_("Sessions"), "Activity", 20), "/sessions", "inspect"),
    (Page(N_("Insights"), "Activity", 40), "/insights", "insights"),
    (Page(N_("Schedule"), "Activity", 70), "/schedule", "scheduler"),
    (Page(N_("Model"), "Settings", 0), "/setup", "terminal"),
    (Page(N_("Plugins"), "Settings", 30), "/plugins", "configure"),
    (Page(N_("Memory"), "Settings", 50), "/memory", "memory"),
    (Page(N_("Skills"), "Settings", 60), "/skills", "skills"),
    (Page(N_("People"), "Settings", 80), "/people", "access"),
    (Page(N_("Doctor"), "Settings", 90), "/doctor", "inspect"),
)
"""Each standard page with its path and its plugin."""


def placeholder_pages() -> Iterable[Route]:
    """Return a route for each page, which says how to switch its plugin on."""
    for page, path, plugin in PAGES:
        yield SiteRoute("GET", path, partial(_show, page.title, plugin), page=page)


async def _show(title: str, plugin: str, request: Any) -> View:
    row = Row([Link(plugin, f"/plugins/{plugin}"), Code(f"hookline plugins enable {plugin}")])
    subtitle = t("This page needs the plugin {plugin}, which is off.", plugin=plugin)
    return View(t(title), [Table([t("Plugin"), t("Command")], [row])], subtitle)
