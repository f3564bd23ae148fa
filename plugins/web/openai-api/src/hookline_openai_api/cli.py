"""``hookline api keys``: add, list, revoke. Imported when the command line is built."""

from __future__ import annotations

import json as jsonlib
import sys
from datetime import datetime
from typing import Annotated

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.hooks.boot import RegisterCli

from .keys import KeyRing

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
Name = Annotated[str, typer.Argument(help="Whose key it is; the person is api:NAME.")]


class KeyCommands:
    """One method for each command."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def register(self, register: RegisterCli) -> None:
        """Register ``api keys add|list|revoke``."""
        app = typer.Typer(no_args_is_help=True, help="Keys for clients of the API.")
        app.command("add", help="Make a key, shown once, and let api:NAME in.")(self.add)
        app.command("list", help="Who has a key.")(self.list_)
        app.command("revoke", help="Take a key back, at once.")(self.revoke)
        group = typer.Typer(no_args_is_help=True, help="The API that OpenAI's clients speak.")
        group.add_typer(app, name="keys")
        register("api", group, help="Keys for clients that speak OpenAI's API.")

    async def add(self, name: Name, json: Json = False) -> None:
        """Make a key, shown once, and let api:NAME in."""
        try:
            key = await self._keys.add(name)
        except HooklineError as error:
            raise CommandError(str(error), 1) from None
        if json:
            _say(jsonlib.dumps({"name": name, "key": key}))
            return
        _say(key)
        sys.stderr.write(f"The key of api:{name}. Keep it now: it is not shown again.\n")

    async def list_(self, json: Json = False) -> None:
        """Who has a key."""
        keys = await self._keys.all()
        if json:
            rows = [
                {"name": one.name, "key": one.hint + "…", "created": one.created} for one in keys
            ]
            _say(jsonlib.dumps(rows, ensure_ascii=False))
            return
        for one in keys:
            day = datetime.fromtimestamp(one.created).strftime("%Y-%m-%d")
            _say(f"{one.name:<24} {one.hint}…  since {day}")
        if not keys:
            _say("There is no key; `hookline api keys add NAME` makes one.")

    async def revoke(self, name: Name, json: Json = False) -> None:
        """Take a key back, at once."""
        if not await self._keys.revoke(name):
            raise CommandError(f"there is no key {name[:80]!r}; `hookline api keys list`", 1)
        _say(jsonlib.dumps({"name": name, "revoked": True}) if json else f"{name} is revoked.")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
