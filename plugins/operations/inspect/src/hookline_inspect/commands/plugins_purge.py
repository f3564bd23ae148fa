"""Delete everything that a plugin stored.

``hookline plugins purge``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs.cli import with_plugin

from .. import plugin_info

if TYPE_CHECKING:
    from .. import Inspect

WORKS_WHEN_OFF = True


@with_plugin
async def purge(
    plugin: Inspect,
    name: Annotated[str, typer.Argument(help="The plugin.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete everything that a plugin has stored. This cannot be undone."""
    await plugin_info.purge(plugin.host, name, yes)
