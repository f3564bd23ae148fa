"""The commands' arguments, as Typer reads them, and what each does.

Core reads the signatures when it builds the command line, and runs an ``async def`` command with
the plugin that is set up. Imported only then, because of Typer.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from hookline_hookspecs import Host

from . import doctor, hooks, plugin_info, prompt, sessions, show_trace

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
Action = Literal["list", "show", "search", "export", "delete"]
ACTIONS = "list, show ID, search QUERY, export ID or delete ID."


class Commands:
    """One method for each command, called by its name."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def doctor(
        self,
        ctx: typer.Context,
        json: Json = False,
        offline: Annotated[
            bool, typer.Option("--offline", help="Go nowhere on the network.")
        ] = False,
        fix: Annotated[
            bool, typer.Option("--fix", help="Mend what is safe to mend, and say so.")
        ] = False,
    ) -> None:
        """Check the installation; each failing check says how to mend it."""
        doctor.show(ctx, self._host, json, offline, fix)

    async def hooks(
        self,
        name: Annotated[str | None, typer.Argument(help="Only this hook.")] = None,
        json: Json = False,
    ) -> None:
        """Every hook: kind, deadline and who implements it, in the order of the calls."""
        hooks.show(self._host, name, json)

    async def prompt(
        self,
        session: Annotated[str | None, typer.Option(help="The stored prompt of a session.")] = None,
        json: Json = False,
    ) -> None:
        """The exact stable prompt and tools, and what each plugin's part costs."""
        await prompt.show(self._host, session, json)

    def list_(self, ctx: typer.Context, json: Json = False) -> None:
        """Every plugin that is installed or in the config, with its state and the reason."""
        plugin_info.list_anyway(ctx.obj, json)

    def info(self, ctx: typer.Context, name: str, json: Json = False) -> None:
        """One plugin: version, hooks, tools and their cost, settings, storage, last errors."""
        plugin_info.show_anyway(ctx.obj, name, json)

    async def purge(
        self, name: str, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
    ) -> None:
        """Remove everything a plugin has stored."""
        await plugin_info.purge(self._host, name, yes)

    async def sessions(
        self,
        action: Annotated[
            Action, typer.Argument(metavar="ACTION", help=ACTIONS, parser=sessions.action)
        ] = "list",
        words: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="ID|QUERY",
                help="The session, or words that a message must hold.",
                show_default=False,
            ),
        ] = None,
        limit: Annotated[
            int | None,
            typer.Option(min=1, help="list, search: how many, newest first.", show_default=False),
        ] = None,
        yes: Annotated[bool, typer.Option("--yes", help="delete: do not ask.")] = False,
        json: Json = False,
    ) -> None:
        """See, search, export and delete conversations."""
        given = sessions.Given(words or [], limit, yes, json)
        await sessions.ACTIONS[action](self._host, given)

    async def trace(
        self,
        session: Annotated[
            str | None, typer.Argument(help="The session; else the latest.", show_default=False)
        ] = None,
        turn: Annotated[
            int | None,
            typer.Option(min=1, help="Its turn of this number; else the last.", show_default=False),
        ] = None,
        json: Json = False,
    ) -> None:
        """What happened in a turn, step by step; recorded where tracing is on."""
        await show_trace.show(self._host, session, turn, json)
