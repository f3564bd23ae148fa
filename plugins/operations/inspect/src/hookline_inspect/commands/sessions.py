"""List, show, search, export and delete sessions.

``hookline sessions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from hookline_hookspecs.cli import with_plugin

from .. import sessions as actions

if TYPE_CHECKING:
    from .. import Inspect

Action = Literal["list", "show", "search", "export", "delete"]


@with_plugin
async def sessions(
    plugin: Inspect,
    action: Annotated[
        Action,
        typer.Argument(
            metavar="ACTION",
            help="list, show ID, search QUERY, export ID or delete ID.",
            parser=actions.action,
        ),
    ] = "list",
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID|QUERY", help="A session, or the words to search for.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="list, search: maximum number of results, newest first.", show_default=False
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="delete: do not ask.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="list: open chats, and sessions that run or wait now.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List, show, search, export and delete sessions."""
    if live:
        from ..live_sessions import show_live
        from ..output import exit_with_error

        if action != "list" or words:
            exit_with_error("--live belongs to `sessions list`")
        await show_live(plugin.host, json=json)
        return
    arguments = actions.SessionArguments(words or [], limit, yes, json)
    await actions.ACTIONS[action](plugin.host, arguments)
