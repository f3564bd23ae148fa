"""Finds the plugins of this repository that implement a hook, from their installed classes."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

import plugin_list
from hookline_hookspecs import HOOKS

GROUP = "hookline.plugins"


@cache
def users() -> dict[str, list[str]]:
    """The plugins that implement each hook, by name; hooks without users are included."""
    found: dict[str, list[str]] = {hook: [] for hook in HOOKS}
    for name, kind in sorted(classes().items()):
        # A setting may choose a subclass with more hooks.
        kinds = [kind, *kind.__subclasses__()]
        for hook in HOOKS:
            if any(hasattr(getattr(cls, hook, None), "hookline_impl") for cls in kinds):
                found[hook].append(name)
    return found


@cache
def classes() -> dict[str, type]:
    """The installed and importable classes of this repository's plugins."""
    here = plugin_list.plugin_pages()
    points = [point for point in entry_points(group=GROUP) if point.name in here]
    loaded = {point.name: _loaded(point) for point in points}
    return {name: kind for name, kind in loaded.items() if kind is not None}


def _loaded(point: EntryPoint) -> type | None:
    try:
        found: type = point.load()
    except (AttributeError, ImportError):
        return None
    return found
