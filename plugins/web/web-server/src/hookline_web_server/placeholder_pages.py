"""Placeholders for the standard pages of plugins that are off, so that the navigation stays the
same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from hookline_hookspecs import Page, Route
from hookline_hookspecs.web import Code, Link, Row, SiteRoute, Table, View

PAGES = (
    ("Sessions", "/sessions", 20, "inspect"),
    ("Plugins", "/plugins", 30, "configure"),
    ("Insights", "/insights", 40, "insights"),
    ("Memory", "/memory", 50, "memory"),
    ("Skills", "/skills", 60, "skills"),
    ("Schedule", "/schedule", 70, "scheduler"),
    ("People", "/people", 80, "access"),
    ("Doctor", "/doctor", 90, "inspect"),
)
"""Title, path, order and plugin of each standard page."""


def placeholder_pages() -> Iterable[Route]:
    """Return a route for each page, which says how to switch its plugin on."""
    for title, path, order, plugin in PAGES:
        show = partial(_show, title, plugin)
        yield SiteRoute("GET", path, show, page=Page(title, order=order))


async def _show(title: str, plugin: str, request: Any) -> View:
    row = Row([Link(plugin, f"/plugins/{plugin}"), Code(f"hookline plugins enable {plugin}")])
    subtitle = f"This page needs the plugin {plugin}, which is off."
    return View(title, [Table(["Plugin", "Command"], [row])], subtitle)
