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
"""A file beside a plugin's migrations: its tables that are computed from others, one a line."""
_SEED = re.compile(r"^INSERT\s+INTO\s+(\w+)", re.IGNORECASE | re.MULTILINE)


async def migrate_component(store: Store, component: str, home: Path) -> None:
    """Bring the tables of one component up to date.

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
    """The package of an installed plugin. Raises ``StoreError``."""
    kind = plugin.partition(":")[0]
    found = next(iter(entry_points(group="hookline.plugins", name=kind)), None)
    if found is None:
        raise StoreError(
            f"The store holds tables of the plugin {plugin}, which is not installed, so they "
            f"cannot be created. Install it, or remove them: hookline plugins purge {plugin}"
        )
    return found.module.partition(".")[0]


def derived_tables(components: Iterable[str]) -> set[str]:
    """Tables that are computed from others and need not be copied."""
    found = {"files"}  # filled from the files in the home
    for package in _packages(components):
        listed = files(package) / "migrations" / DERIVED
        if listed.is_file():
            found |= set(listed.read_text("utf-8").split())
    return found


def seeded_tables(components: Iterable[str]) -> set[str]:
    """Tables into which migrations put rows."""
    return {
        name
        for package in _packages(components)
        for path in Path(str(files(package) / "migrations")).rglob("*.sql")
        for name in _SEED.findall(path.read_text("utf-8"))
    }


def _packages(components: Iterable[str]) -> list[str]:
    plugins = [one.removeprefix(PLUGIN) for one in components if one.startswith(PLUGIN)]
    return [package_of(name) for name in plugins]
