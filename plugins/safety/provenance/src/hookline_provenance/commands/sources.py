"""List and change the trusted hosts, people and tools.

``hookline sources``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import with_plugin

if TYPE_CHECKING:
    from .. import Provenance


@with_plugin
async def sources(
    plugin: Provenance,
    action: Annotated[
        str, typer.Argument(metavar="add|remove", help="Add to the list or remove from it.")
    ] = "",
    what: Annotated[
        str, typer.Argument(metavar="HOST|PERSON|TOOL", help="A host, CHANNEL:USER or `tool NAME`.")
    ] = "",
) -> None:
    """List or change the hosts, people and tools whose text is trusted."""
    if not action:
        typer.echo("\n".join(await plugin.trust.listed()) or "Nothing is trusted.")
    elif action == "add" and what:
        typer.echo(f"{await plugin.trust.add(what, 'the terminal')} is trusted.")
    elif action == "remove" and what:
        removed = await plugin.trust.remove(what)
        typer.echo(f"{what} is no longer trusted." if removed else f"{what} was not trusted.")
    else:
        raise CommandError(
            "write `hookline sources`, `hookline sources add WHAT` or "
            "`hookline sources remove WHAT`"
        )
