"""List the open questions, and answer one.

``hookline questions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from hookline_hookspecs.cli import with_plugin

from .. import questions as actions

if TYPE_CHECKING:
    from .. import Inspect

Action = Literal["list", "answer"]
KIND = "list: only this kind: approval, clarify, form, proposal or trust."


@with_plugin
async def questions(
    plugin: Inspect,
    action: Annotated[
        Action,
        typer.Argument(metavar="ACTION", help="list, or answer ID CHOICE.", parser=actions.action),
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
    """List the open questions, and answer one."""
    if action == "answer":
        await actions.answer(plugin.host, words or [], json=json)
    else:
        await actions.list_(plugin.host, words or [], kind, json=json)
