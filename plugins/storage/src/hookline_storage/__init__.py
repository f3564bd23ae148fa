"""What a plugin keeps: ``host.storage``, made by core through the group ``hookline.services``.

Nothing heavy is imported here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline_hookspecs import Store

    from .storage import PluginStorage


def make_storage(store: Store, plugin: str, package: str | None, home: Path) -> PluginStorage:
    """One plugin's storage; ``package`` is its module, beside whose file its SQL lies."""
    from .storage import PluginStorage

    return PluginStorage(store, plugin, package, home)
