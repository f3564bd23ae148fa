"""Manage API keys for clients of the OpenAI-compatible API.

``hookline api keys``.
"""

from __future__ import annotations

import json as jsonlib
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.cli import with_plugin

if TYPE_CHECKING:
    from .plugin import OpenAIApi


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(help="The key's owner, known as api:NAME.")]

app = typer.Typer(no_args_is_help=True)
keys = typer.Typer(no_args_is_help=True, help="Manage API keys.")
app.add_typer(keys, name="keys")


@keys.command("add")
@with_plugin
async def add(plugin: OpenAIApi, name: Name, json: Json = False) -> None:
    """Create a key for api:NAME, allow it, and show it once."""
    try:
        key = await plugin.keys.add(name)
    except HooklineError as error:
        raise CommandError(str(error), 1) from None
    if json:
        _say(jsonlib.dumps({"name": name, "key": key}))
        return
    _say(key)
    sys.stderr.write(f"This is the key of api:{name}. Save it now; it is not shown again.\n")


@keys.command("list")
@with_plugin
async def list_keys(plugin: OpenAIApi, json: Json = False) -> None:
    """List API keys."""
    found = await plugin.keys.all()
    if json:
        rows = [{"name": one.name, "key": one.hint + "…", "created": one.created} for one in found]
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for one in found:
        day = datetime.fromtimestamp(one.created).strftime("%Y-%m-%d")
        _say(f"{one.name:<24} {one.hint}…  since {day}")
    if not found:
        _say("No keys. Run `hookline api keys add NAME` to create one.")


@keys.command("revoke")
@with_plugin
async def revoke(plugin: OpenAIApi, name: Name, json: Json = False) -> None:
    """Revoke a key immediately."""
    if not await plugin.keys.revoke(name):
        raise CommandError(
            f"unknown key {name[:80]!r}. Run `hookline api keys list` to list keys", 1
        )
    _say(jsonlib.dumps({"name": name, "revoked": True}) if json else f"Revoked the key of {name}.")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
