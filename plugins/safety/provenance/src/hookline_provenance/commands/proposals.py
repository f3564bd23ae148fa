"""List held actions, and accept or reject them.

``hookline proposals``.
"""

from __future__ import annotations

import getpass
import json as jsonlib
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.cli import with_plugin

from ..proposals import CHOICES
from ..question_text import listed

if TYPE_CHECKING:
    from .. import Provenance


@with_plugin
async def proposals(
    plugin: Provenance,
    action: Annotated[
        str, typer.Argument(metavar="accept|reject", help="Accept or reject the action ID.")
    ] = "",
    id: Annotated[  # noqa: A002
        str, typer.Argument(metavar="ID", help="The action's id, as listed.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List held actions, or accept or reject one.

    The agent's actions are held if the chat had read untrusted content and no one was there to ask.
    """
    if not action:
        found = await plugin.proposals.open()
        rows = [one.to_dict() for one in found]
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False) if json else listed(found))
    elif action in CHOICES and id:
        by = (TERMINAL, getpass.getuser())
        typer.echo((await plugin.proposals.answer(id, CHOICES[action], by)).outcome)
    else:
        raise CommandError(
            "write `hookline proposals`, `hookline proposals accept ID` or "
            "`hookline proposals reject ID`"
        )
