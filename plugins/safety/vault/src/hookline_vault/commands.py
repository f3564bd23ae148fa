"""``hookline vault``: what is kept, under which names. No command shows a value.

Core reads the signatures when it builds the command line. Imported only then, because of Typer.
"""

from __future__ import annotations

import getpass
import json as jsonlib
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import CommandError

if TYPE_CHECKING:
    from hookline_hookspecs.hooks.boot import RegisterCli

    from .secrets import Secrets

Name = Annotated[str, typer.Argument(metavar="NAME", help="Such as openai or db/prod.")]
SHORT = 6
"""Characters; a shorter value cannot be told from the words around it."""


class Commands:
    """One method for each command."""

    def __init__(self, secrets: Callable[[], Secrets]) -> None:
        self._made = secrets

    @property
    def _secrets(self) -> Secrets:
        return self._made()

    def register(self, register: RegisterCli) -> None:
        """Register ``vault set|list|rm|rotate|rekey``."""
        register("vault set", self.set_, help="Keep a value; it is read from standard input.")
        register("vault list", self.list_, help="Names, versions and hosts; never a value.")
        register("vault rm", self.rm, help="Remove a secret.")
        register("vault rotate", self.rotate, help="Give a secret a new value; its hosts stay.")
        register("vault rekey", self.rekey, help="Put all secrets under a new key.")

    async def set_(
        self,
        name: Name,
        host: Annotated[
            str | None, typer.Option(metavar="H", help="Send it to this host, over HTTPS alone.")
        ] = None,
        header: Annotated[
            str | None,
            typer.Option(metavar="TEMPLATE", help="In this header: 'Authorization: Bearer {}'."),
        ] = None,
    ) -> None:
        """Keep a value under a name. It is read from standard input, and asked on a terminal."""
        from .hosts import content_for

        content_for("value", host, header)  # before anybody types a secret
        version = await self._secrets.keep(name, content_for(_value(name), host, header))
        _say(f"{name} is in the vault (version {version}). In config.yaml: vault:{name}")
        if host is not None:
            _say(f"Requests of tools to https://{host} carry it; no other host gets it.")

    async def list_(
        self, json: Annotated[bool, typer.Option("--json", help="JSON.")] = False
    ) -> None:
        """What is kept; no value, and no key is needed."""
        found = await self._secrets.entries()
        if json:
            _say(jsonlib.dumps([asdict(entry) for entry in found]))
            return
        for entry in found:
            sent = f"  to {', '.join(entry.hosts)} as {entry.header}" if entry.hosts else ""
            day = datetime.fromtimestamp(entry.created).astimezone().date()
            _say(f"{entry.name}  version {entry.version}, {day}{sent}")
        if not found:
            _say("The vault is empty. `hookline vault set NAME` puts something in.")

    async def rm(
        self, name: Name, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
    ) -> None:
        """Remove a secret."""
        if not yes:
            _confirm(name)
        if not await self._secrets.remove(name):
            raise CommandError(f"nothing in the vault is named {name}", 1)
        _say(f"{name} is removed.")

    async def rotate(self, name: Name) -> None:
        """Give a secret a new value, read as by set; the old one is gone."""
        version = await self._secrets.rotate(name, _value(name))
        _say(f"{name} has a new value (version {version}).")

    async def rekey(
        self, to: Annotated[str | None, typer.Option("--to", help="Where the key will be.")] = None
    ) -> None:
        """Make a new key and put every secret under it; --to moves it, such as to file."""
        secrets = self._secrets
        told = await secrets.rekey(secrets.keys.source(to) if to else None)
        _say(f"The vault has a new key. {told}".strip())


def _value(name: str) -> str:
    """The value, from standard input, without the end of its last line."""
    if sys.stdin.isatty():
        with _at_once():
            value = getpass.getpass(f"Value of {name} (not shown): ")
    else:
        try:
            value = sys.stdin.read()
        except UnicodeDecodeError:
            raise CommandError(
                "the value is no UTF-8 text; encode it, in base64 for example", 2
            ) from None
        value = value.removesuffix("\n").removesuffix("\r")
    if not value:
        raise CommandError(
            "there is no value: pipe it in, as in `pass show api | hookline vault set api`", 2
        )
    if len(value) < SHORT:
        sys.stderr.write(
            "hookline: warning: so short a value cannot be kept out of logs and results\n"
        )
    return value


def _confirm(name: str) -> None:
    if not sys.stdin.isatty():
        raise CommandError(f"nobody is there to ask; `hookline vault rm {name} --yes` removes it")
    with _at_once():
        answer = typer.confirm(f"Remove {name} for good?")
    if not answer:
        raise CommandError("nothing was removed", 1)


@contextmanager
def _at_once() -> Iterator[None]:
    """Let Ctrl-C end the command while a person is asked: the event loop, which takes it otherwise,
    waits for the answer itself."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\n")  # the question's line ends
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
