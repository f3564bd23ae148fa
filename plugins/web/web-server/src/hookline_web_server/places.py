"""Pages that have their place in the navigation also while the plugin that brings them is off."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from hookline_hookspecs import Page, Route
from hookline_hookspecs.web import Code, Link, Row, SiteRoute, Table, View

PLACES = (
    ("Sessions", "/sessions", 20, "inspect"),
    ("Plugins", "/plugins", 30, "configure"),
    ("Insights", "/insights", 40, "insights"),
    ("Memory", "/memory", 50, "memory"),
    ("Skills", "/skills", 60, "skills"),
    ("Schedule", "/schedule", 70, "scheduler"),
    ("People", "/people", 80, "access"),
    ("Doctor", "/doctor", 90, "inspect"),
)
"""Title, path, order and the plugin of each page that people may rely on."""


def places() -> Iterable[Route]:
    """Return a route for each place, that tells the operator how to have the page."""
    for title, path, order, plugin in PLACES:
        show = partial(_show, title, plugin)
        yield SiteRoute("GET", path, show, page=Page(title, order=order))


async def _show(title: str, plugin: str, request: Any) -> View:
    row = Row([Link(plugin, f"/plugins/{plugin}"), Code(f"hookline plugins enable {plugin}")])
    told = f"This page comes from the plugin {plugin}, which is off."
    return View(title, [Table(["Plugin", "To have it"], [row])], told)
