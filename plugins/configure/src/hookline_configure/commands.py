"""``hookline config …``, ``hookline plugins enable`` and ``disable``.

Imported when the command line is built, because of Typer. The commands run without the store, and
also where config.yaml keeps Hookline from starting.
"""

from __future__ import annotations

import json as json_
import os
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from hookline_hookspecs import CommandError, Configuration, HooklineError, Host

from .file import ConfigFile

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
FAILED, USAGE = 1, 2
_LINE_ENDS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""They end a line for some readers, and JSON allows them raw."""


class ConfigCommands:
    """``hookline config`` for the home of ``host``."""

    def __init__(self, host: Host) -> None:
        self._core = host.services[Configuration]
        self._file = ConfigFile(host)

    def app(self) -> typer.Typer:
        """The group."""
        group = typer.Typer(help="See, check and change the configuration.", no_args_is_help=True)
        commands: list[Callable[..., None]] = [self.path, self.show, self.get, self.check]
        commands += [self.schema, self.set, self.unset, self.edit]
        for command in commands:
            group.command(command.__name__)(command)
        return group

    def path(self) -> None:
        """Print the path of config.yaml."""
        typer.echo(self._file.path)

    def show(self, json: Json = False) -> None:
        """Print the effective config, secrets masked."""
        with _sentences():
            _warn(self._core.check(self._file.text())[1])
            found = self._core.effective()
        _print(found, json)

    def get(self, key: str, json: Json = False) -> None:
        """Print the effective value of KEY (dotted), secrets masked."""
        with _sentences():
            found: Any = self._core.effective()
        for name in key.split("."):
            if not isinstance(found, dict) or name not in found:
                raise CommandError(
                    f"{key} is not in the effective config; `hookline config show` prints all of it"
                )
            found = found[name]
        _print(found, json)

    def check(self) -> None:
        """Check config.yaml; exit code 2 if there are errors."""
        with _sentences():
            problems, warnings = self._core.check()
        _warn(warnings)
        for problem in problems:
            typer.echo(f"hookline: {problem}", err=True)
        if problems:
            raise typer.Exit(USAGE)
        path = self._file.path
        typer.echo(f"{path}: {'fine' if path.exists() else 'absent, defaults apply'}")

    def schema(self) -> None:
        """Print the JSON schema of config.yaml, for editors."""
        _print(self._core.schema(), json=True)

    def set(self, key: str, value: str) -> None:
        """Set KEY (dotted, such as session.idle_hours) to VALUE (YAML)."""
        with _sentences():
            _warn(self._file.set(key, value))
        typer.echo(f"{key} is set in {self._file.path}")

    def unset(self, key: str) -> None:
        """Remove KEY (dotted) from config.yaml, so that its default applies."""
        with _sentences():
            _warn(self._file.unset(key))
        typer.echo(f"{key} is no longer in {self._file.path}")

    def edit(self) -> None:
        """Open config.yaml in $VISUAL or $EDITOR, then check it."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        path = self._file.path
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            code = subprocess.run([*shlex.split(editor), path], check=False).returncode
        except (OSError, ValueError) as error:
            raise CommandError(f"{editor} cannot be started: {error}; set EDITOR.") from None
        if code:
            raise CommandError(f"{editor} ended with exit code {code}.", FAILED)
        self.check()


class SwitchCommands:
    """``hookline plugins enable`` and ``disable`` for the home of ``host``."""

    def __init__(self, host: Host) -> None:
        self._core = host.services[Configuration]
        self._file = ConfigFile(host)

    def enable(self, name: str) -> None:
        """Switch a plugin on in config.yaml."""
        installed = _is_installed(name)
        for kind, setting in (("provider", f"model: {name}/MODEL"), ("store", f"store: {name}")):
            if not installed and entry_points(group=f"hookline.{kind}s", name=name):
                raise CommandError(
                    f"{name} is a {kind}, not a plugin; choose it with `{setting}` in config.yaml"
                )
        self._switch(name, "true")
        typer.echo(f"{name} is on in {self._file.path}")
        if not installed:
            typer.echo(f"{name} is not installed yet: pip install hookline-{name}", err=True)

    def disable(self, name: str) -> None:
        """Switch a plugin off in config.yaml, keeping its settings."""
        with _sentences():
            known = name in self._core.effective()["plugins"] or _is_installed(name)
        if not known:
            raise CommandError(
                f"there is no plugin {name}; `hookline plugins list` shows those there are"
            )
        self._switch(name, "false")
        typer.echo(f"{name} is off in {self._file.path}")

    def _switch(self, name: str, value: str) -> None:
        with _sentences():
            _warn(self._file.set(f"plugins.{name}", value))


def _is_installed(plugin: str) -> bool:
    return bool(entry_points(group="hookline.plugins", name=plugin))


@contextmanager
def _sentences() -> Iterator[None]:
    """End the command with the sentences of an error."""
    try:
        yield
    except HooklineError as error:
        raise CommandError(str(error)) from None


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        typer.echo(f"hookline: warning: {warning}", err=True)


def _print(value: object, json: bool) -> None:
    """Print a value as text or YAML, or as JSON on one line."""
    if not json and isinstance(value, dict | list):
        import yaml

        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    elif not json and isinstance(value, str):
        text = value
    else:
        text = json_.dumps(value, ensure_ascii=False, default=str).translate(_LINE_ENDS)
    typer.echo(text.removesuffix("\n"))
