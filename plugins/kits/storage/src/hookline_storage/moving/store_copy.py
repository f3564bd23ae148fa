"""Copy everything into another store, and compare both.

``hookline store copy``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.cli import with_plugin

from .commands import Commands

if TYPE_CHECKING:
    from .. import StoragePlugin

PLACE = "sqlite, a path, or postgresql://…"


@with_plugin
def copy(
    plugin: StoragePlugin,
    source: Annotated[str, typer.Argument(metavar="FROM", help=PLACE)],
    target: Annotated[str, typer.Argument(metavar="TO", help=PLACE)],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Copy everything into another store, and compare both.

    FROM is not changed. If the copy is interrupted, the same command continues it. TO must be
    empty, or hold a part of this copy.
    """
    Commands(plugin.host).copy(source, target, json)
