"""The components with tables in a store: core, the plugins' shared storage, and plugins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

from hookline_hookspecs.drivers import Store
from hookline_hookspecs.errors import StoreError

from ..journal import core_migrations
from ..plugin_storage import PluginStorage, prepare_storage

CORE, STORAGE, PLUGIN = "core", "storage", "plugin "
DERIVED = "derived.txt"
"""A file in a plugin's migrations folder: its tables that are computed from others, one a line."""
_SEED = re.compile(r"^INSERT\s+INTO\s+(\w+)", re.IGNORECASE | re.MULTILINE)


async def migrate_component(store: Store, component: str, home: Path) -> None:
    """Migrate the tables of one component.

    Raises:
        StoreError: a migration failed, or the component is not installed.
    """
    if component == CORE:
        await store.migrate(CORE, core_migrations(store.dialect))
    elif component == STORAGE:
        await prepare_storage(store)
    else:
        name = component.removeprefix(PLUGIN)
        await PluginStorage(store, name, package_of(name), home).prepare()


@cache
def package_of(plugin: str) -> str:
    """The package of a plugin. Raises ``StoreError`` if the plugin is not installed."""
    kind = plugin.partition(":")[0]
    found = next(iter(entry_points(group="hookline.plugins", name=kind)), None)
    if found is None:
        raise StoreError(
            f"The store has tables of plugin {plugin}, which is not installed, so they cannot be "
            f"created. Install it, or remove the tables: hookline plugins purge {plugin}"
        )
    return found.module.partition(".")[0]


def derived_tables(components: Iterable[str]) -> set[str]:
    """The tables that are computed from others and need not be copied."""
    found = {"files"}  # filled from the files in the home
    for package in _packages(components):
        listed = files(package) / "migrations" / DERIVED
        if listed.is_file():
            found |= set(listed.read_text("utf-8").split())
    return found


def seeded_tables(components: Iterable[str]) -> set[str]:
    """The tables into which migrations insert rows."""
    return {
        name
        for package in _packages(components)
        for path in Path(str(files(package) / "migrations")).rglob("*.sql")
        for name in _SEED.findall(path.read_text("utf-8"))
    }


def _packages(components: Iterable[str]) -> list[str]:
    plugins = [name.removeprefix(PLUGIN) for name in components if name.startswith(PLUGIN)]
    return [package_of(name) for name in plugins]
