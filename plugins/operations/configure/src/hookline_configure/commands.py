"""``hookline config …``; :mod:`.switches` has ``hookline plugins enable`` and ``disable``.

Imported when the command line is built, because of Typer. The commands run without the store, and
also where config.yaml keeps Hookline from starting.
"""

from __future__ import annotations

import json as json_
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from hookline_hookspecs import CommandError, Configuration, HooklineError, Host

from .checking import every_problem
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
        with sentences():
            warn(self._core.check(self._file.text())[1])
            found = self._core.effective()
        _print(found, json)

    def get(self, key: str, json: Json = False) -> None:
        """Print the effective value of KEY (dotted), secrets masked."""
        with sentences():
            found: Any = self._core.effective()
        for name in key.split("."):
            if not isinstance(found, dict) or name not in found:
                raise CommandError(
                    f"{key} is not in the effective config; `hookline config show` prints all of it"
                )
            found = found[name]
        _print(found, json)

    def check(self) -> None:
        """Check config.yaml and name every error, unknown keys included; exit code 2 for any."""
        if not self._is_fine():
            raise typer.Exit(USAGE)

    def _is_fine(self) -> bool:
        """Tell every error there is, or that there is none."""
        problems, warnings = every_problem(self._core, self._file.path)
        warn(warnings)
        for problem in problems:
            typer.echo(f"hookline: {problem}", err=True)
        path = self._file.path
        if not problems:
            typer.echo(f"{path}: {'fine' if path.exists() else 'absent, defaults apply'}")
        return not problems

    def schema(self) -> None:
        """Print the JSON schema of config.yaml, for editors."""
        _print(self._core.schema(), json=True)

    def set(self, key: str, value: str) -> None:
        """Set KEY (dotted, such as session.idle_hours) to VALUE (YAML)."""
        with sentences():
            warn(self._file.set(key, value))
        typer.echo(f"{key} is set in {self._file.path}")

    def unset(self, key: str) -> None:
        """Remove KEY (dotted) from config.yaml, so that its default applies."""
        with sentences():
            warn(self._file.unset(key))
        typer.echo(f"{key} is no longer in {self._file.path}")

    def edit(self) -> None:
        """Open config.yaml in $VISUAL or $EDITOR, then check it; again while it has errors."""
        path = self._file.path
        with sentences():
            self._file.refuse_no_file()
        before = path.read_bytes() if path.is_file() else None
        while True:
            _open_editor(path)
            if self._is_fine():
                return
            if not sys.stdin.isatty():
                raise typer.Exit(USAGE)
            answer = typer.prompt("[e]dit again, [r]estore what was there, [k]eep it", "e").lower()
            if answer.startswith("k"):
                raise typer.Exit(USAGE)
            if answer.startswith("r"):
                path.unlink() if before is None else path.write_bytes(before)
                typer.echo(f"{path}: as it was")
                return


def _open_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise CommandError(f"{editor} cannot be started: {error}; set EDITOR.") from None
    if code:
        raise CommandError(f"{editor} ended with exit code {code}.", FAILED)


@contextmanager
def sentences() -> Iterator[None]:
    """End the command with the sentences of an error."""
    try:
        yield
    except HooklineError as error:
        raise CommandError(str(error)) from None


def warn(warnings: Iterable[str]) -> None:
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
