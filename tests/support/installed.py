"""Plugins that are installed, for tests of one plugin together with another."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from hookline_hookspecs import Plugin


def installed_plugin(name: str) -> type[Plugin[Any]]:
    """Return the class of an installed plugin."""
    (found,) = entry_points(group="hookline.plugins", name=name)
    plugin: type[Plugin[Any]] = found.load()
    return plugin
