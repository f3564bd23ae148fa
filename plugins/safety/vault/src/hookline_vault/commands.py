"""Store and manage encrypted secrets.

``hookline vault``. No command shows a value.
"""

from __future__ import annotations

import getpass
import json as jsonlib
import sys
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import confirm, interruptible, with_plugin

if TYPE_CHECKING:
    from .plugin import VaultPlugin


Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The secret's name, such as openai or db/prod.")
]
MIN_MASKABLE_CHARS = 6
"""Characters. A shorter value is not masked, because it may be part of ordinary words."""

app = typer.Typer(no_args_is_help=True)


@app.command("set")
@with_plugin
async def set_secret(
    plugin: VaultPlugin,
    name: Name,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Send it to this host only, over HTTPS.")
    ] = None,
    header: Annotated[
        str | None,
        typer.Option(
            metavar="TEMPLATE", help="The header to send it in, such as 'Authorization: Bearer {}'."
        ),
    ] = None,
) -> None:
    """Store a secret, read from standard input or, on a terminal, asked for."""
    from .host_headers import content_for

    content_for("value", host, header)  # report errors before the secret is typed
    version = await plugin.secrets.store(name, content_for(_read_value(name), host, header))
    _say(f"{name} is in the vault (version {version}). In config.yaml: vault:{name}")
    if host is not None:
        _say(f"Tools send it to https://{host} and to no other host.")


@app.command("list")
@with_plugin
async def list_secrets(
    plugin: VaultPlugin, json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """List the secrets' names, versions and hosts, never a value."""
    entries = await plugin.secrets.entries()
    if json:
        _say(jsonlib.dumps([asdict(entry) for entry in entries]))
        return
    for entry in entries:
        target = f"  to {', '.join(entry.hosts)} as {entry.header}" if entry.hosts else ""
        day = datetime.fromtimestamp(entry.created).astimezone().date()
        _say(f"{entry.name}  version {entry.version}, {day}{target}")
    if not entries:
        _say("The vault is empty. Run `hookline vault set NAME` to store a secret.")


@app.command("rm")
@with_plugin
async def rm(
    plugin: VaultPlugin,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a secret."""
    if not yes and not confirm(f"Remove {name} for good?"):
        raise CommandError("nothing was removed", 1)
    if not await plugin.secrets.remove(name):
        raise CommandError(f"the vault has no secret {name}", 1)
    _say(f"Removed {name}.")


@app.command("rotate")
@with_plugin
async def rotate(plugin: VaultPlugin, name: Name) -> None:
    """Replace a secret's value and keep its hosts."""
    version = await plugin.secrets.rotate(name, _read_value(name))
    _say(f"{name} has a new value (version {version}).")


@app.command("rekey")
@with_plugin
async def rekey(
    plugin: VaultPlugin,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="PLACE", help="Where to keep the new key, such as file."),
    ] = None,
) -> None:
    """Re-encrypt all secrets with a new key."""
    secrets = plugin.secrets
    next_step = await secrets.rekey(secrets.keys.source(to) if to else None)
    _say(f"The vault has a new key. {next_step}".strip())


def _read_value(name: str) -> str:
    """Read the value from standard input, without the final line break."""
    if sys.stdin.isatty():
        with interruptible():
            value = getpass.getpass(f"Value of {name} (not shown): ")
    else:
        try:
            value = sys.stdin.read()
        except UnicodeDecodeError:
            raise CommandError(
                "the value is not UTF-8 text. Encode it, for example with base64", 2
            ) from None
        value = value.removesuffix("\n").removesuffix("\r")
    if not value:
        raise CommandError(
            "the value is empty. Pipe it in, as in `pass show api | hookline vault set api`", 2
        )
    if len(value) < MIN_MASKABLE_CHARS:
        sys.stderr.write(
            "hookline: warning: this value is too short to be masked in logs and results\n"
        )
    return value


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
