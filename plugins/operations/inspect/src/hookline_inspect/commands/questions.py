"""List, show and answer open questions.

``hookline questions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from hookline_hookspecs.cli import with_plugin

from .. import questions as actions

if TYPE_CHECKING:
    from .. import Inspect

Action = Literal["list", "show", "answer"]
KIND = "list: only this kind: approval, clarify, form, proposal or trust."


@with_plugin
async def questions(
    plugin: Inspect,
    action: Annotated[
        Action,
        typer.Argument(
            metavar="ACTION", help="list, show ID or answer ID CHOICE.", parser=actions.action
        ),
    ] = "list",
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID CHOICE",
            help="A question, and a choice's label or number, or Deny and a reason.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[str | None, typer.Option(help=KIND, show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List, show and answer open questions."""
    if action == "answer":
        await actions.answer(plugin.host, words or [], json=json)
    elif action == "show":
        await actions.show(plugin.host, words or [], json=json)
    else:
        await actions.list_(plugin.host, words or [], kind, json=json)
