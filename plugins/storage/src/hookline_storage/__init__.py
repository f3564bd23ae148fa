"""What a plugin keeps: ``host.storage``, made by core through the group ``hookline.services``.

The plugin ``storage`` adds ``hookline migrate-store`` and ``hookline store copy``. Nothing heavy is
imported here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import NoConfig, Plugin, hookimpl
from hookline_hookspecs.hooks.boot import RegisterCli

if TYPE_CHECKING:
    from hookline_hookspecs import Store

    from .storage import PluginStorage


def make_storage(store: Store, plugin: str, package: str | None, home: Path) -> PluginStorage:
    """One plugin's storage; ``package`` is its module, beside whose file its SQL lies."""
    from .storage import PluginStorage

    return PluginStorage(store, plugin, package, home)


class StorageCommands(Plugin[NoConfig]):
    """Adds the commands that are about the whole store."""

    @hookimpl
    def register_cli(self, register: RegisterCli) -> None:
        """Register ``hookline migrate-store`` and ``hookline store copy``."""
        from .moving.commands import Commands

        Commands(self.host).register(register)
