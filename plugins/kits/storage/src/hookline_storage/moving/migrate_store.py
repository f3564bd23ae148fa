"""Bring all tables of the store up to date.

``hookline migrate-store``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.cli import with_plugin

from .commands import Commands

if TYPE_CHECKING:
    from .. import StoragePlugin


@with_plugin
def migrate_store(
    plugin: StoragePlugin, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Bring all tables of the store up to date: core's, and those of every plugin that is on."""
    Commands(plugin.host).migrate(json)
