"""Show, check and change the configuration.

``hookline config``. The commands do not open the store, and they also work where errors in
config.yaml keep Hookline from starting.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from hookline_hookspecs import CommandError
from hookline_hookspecs.cli import command_line

from ..config_file import config_file
from ..output import as_command_errors, print_value, warn, with_sources
from ..validation import find_problems, near_key

Key = Annotated[
    str, typer.Argument(metavar="KEY", help="A dotted key, such as session.idle_hours.")
]
Value = Annotated[str, typer.Argument(metavar="VALUE", help="The value, as YAML.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FAILED, USAGE = 1, 2

WORKS_WHEN_OFF = True
app = typer.Typer(no_args_is_help=True)


@app.command("path")
def print_path() -> None:
    """Print the path of config.yaml."""
    typer.echo(config_file().path)


@app.command("show")
def show(json: Json = False) -> None:
    """Print the effective config and where each value is set, with secrets masked."""
    with as_command_errors():
        warn(command_line().configuration.check(config_file().text())[1])
        found = command_line().configuration.effective()
        sources = command_line().configuration.sources()
    if json:
        print_value(found, json)
    else:
        typer.echo("\n".join(with_sources(found, sources)))


@app.command("get")
def get(key: Key, json: Json = False) -> None:
    """Print the effective value of KEY, with secrets masked."""
    with as_command_errors():
        effective: Any = command_line().configuration.effective()
    found = effective
    for name in key.split("."):
        if not isinstance(found, dict) or name not in found:
            near = near_key(effective, key)
            hint = f"; did you mean {near}?" if near else ""
            raise CommandError(
                f"the effective config has no {key}{hint}"
                + ("" if hint else ". `hookline config show` prints all of it")
            )
        found = found[name]
    print_value(found, json)


@app.command("check")
def check() -> None:
    """Check config.yaml and report every error and unknown key.

    Exits with 2 if there are any.
    """
    if not _is_fine():
        raise typer.Exit(USAGE)


def _is_fine() -> bool:
    """Print every error, or that there is none."""
    problems, warnings = find_problems(command_line().configuration, config_file().path)
    warn(warnings)
    for problem in problems:
        typer.echo(f"hookline: {problem}", err=True)
    path = config_file().path
    if not problems:
        typer.echo(f"{path}: {'no errors' if path.exists() else 'missing, so the defaults apply'}")
    return not problems


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of config.yaml, for editors."""
    print_value(command_line().configuration.schema(), json=True)


@app.command("set")
def set_value(key: Key, value: Value) -> None:
    """Set KEY to VALUE in config.yaml."""
    with as_command_errors():
        warn(config_file().set(key, value))
    typer.echo(f"Set {key} in {config_file().path}")


@app.command("unset")
def unset(key: Key) -> None:
    """Remove KEY from config.yaml. Its default then applies."""
    with as_command_errors():
        warn(config_file().unset(key))
    typer.echo(f"Removed {key} from {config_file().path}")


@app.command("edit")
def edit() -> None:
    """Open config.yaml in $VISUAL or $EDITOR, then check it."""
    path = config_file().path
    with as_command_errors():
        config_file().check_is_file()
    before = path.read_bytes() if path.is_file() else None
    while True:
        _open_editor(path)
        if _is_fine():
            return
        if not sys.stdin.isatty():
            raise typer.Exit(USAGE)
        answer = typer.prompt(
            "[e]dit again, [r]estore the previous file, or [k]eep this one", "e"
        ).lower()
        if answer.startswith("k"):
            raise typer.Exit(USAGE)
        if answer.startswith("r"):
            path.unlink() if before is None else path.write_bytes(before)
            typer.echo(f"{path}: restored")
            return


def _open_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        code = subprocess.run([*shlex.split(editor), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot start {editor}: {error}. Set EDITOR.") from None
    if code:
        raise CommandError(f"{editor} ended with exit code {code}.", FAILED)
