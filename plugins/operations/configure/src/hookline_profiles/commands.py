"""Create and switch between profiles.

``hookline profile``. The commands do not open the database.
"""

from __future__ import annotations

import json as jsonlib
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from hookline_hookspecs.cli import command_line, confirm
from hookline_hookspecs.process_lock import is_gateway_running

from .profile_homes import ProfileError, ProfileHomes, environment_for

T = TypeVar("T")
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The profile. `default` is the home itself.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

WORKS_WHEN_OFF = True
app = typer.Typer(no_args_is_help=True)


@app.command("create")
def create(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Lower-case letters, digits, - and _.")
    ],
    clone: Annotated[
        bool, typer.Option("--clone", help="Copy the current profile's settings, keys and skills.")
    ] = False,
) -> None:
    """Create a profile, empty or with the current one's settings."""
    folder = _or_exit(lambda: _profile_homes().create(name, command_line().home if clone else None))
    typer.echo(f"Created {folder}.")
    if clone and (folder / ".env").exists():
        typer.echo(
            "It has the same keys. One bot cannot serve two profiles, so give it its own tokens."
        )
    first = "" if clone else " init"
    typer.echo(
        f"Use it once with `hookline -p {name}{first}`, or always: `hookline profile use {name}`."
    )


@app.command("list")
def list_profiles(json: Json = False) -> None:
    """List the profiles and mark the current one."""
    active = _profile_homes().active
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "home": str(_profile_homes().folder(name)),
            "active": name == active,
            "gateway": is_gateway_running(_profile_homes().folder(name)),
        }
        for name in _profile_homes().names()
    ]
    if json:
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        note = "  gateway running" if row["gateway"] else ""
        typer.echo(f"{'*' if row['active'] else ' '} {row['name']:<20}{row['home']}{note}")


@app.command("use")
def use(name: Name) -> None:
    """Switch to a profile. Commands with -p use theirs instead."""
    before = _or_exit(lambda: _profile_homes().use(name))
    typer.echo(
        f"Commands now use the profile {name}. `hookline profile use {before}` switches back."
    )
    if is_gateway_running(_profile_homes().folder(before)) and before != name:
        typer.echo(f"The running gateway still uses {before}.")


@app.command("export")
def export(
    name: Name,
    out: Annotated[
        Path | None, typer.Option(help="The file. Default: NAME.tar.zst in this folder.")
    ] = None,
) -> None:
    """Export a profile to a file, without its secrets."""
    folder = _or_exit(lambda: _profile_homes().existing(name))
    try:
        version("hookline-backup")
    except PackageNotFoundError:
        _exit_with("exporting needs the plugin backup. Run `hookline plugins enable backup`")
    path = (out or Path(f"{name}.tar.zst")).absolute()
    words = [sys.executable, "-m", "hookline", "backup", "create", "--out", str(path)]
    done = subprocess.run(words, env=environment_for(folder, name, os.environ), check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    typer.echo(f"Run `hookline backup restore {path.name} --to HOME` on the other machine.")


@app.command("delete")
def delete(
    name: Name, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Remove a profile. Its folder is kept until you delete it."""
    folder = _or_exit(lambda: _profile_homes().existing(name))
    if not yes and not confirm(f"Remove the profile in {folder}?"):
        _exit_with("nothing was changed")
    kept = _or_exit(lambda: _profile_homes().delete(name))
    typer.echo(f"Removed {name}. Its folder is now {kept}; move it back to undo this.")


def _profile_homes() -> ProfileHomes:
    return ProfileHomes(command_line().home)


def _or_exit(work: Callable[[], T]) -> T:
    try:
        return work()
    except ProfileError as error:
        _exit_with(str(error))
        raise


def _exit_with(message: str) -> None:
    typer.echo(f"hookline: {message}", err=True)
    raise SystemExit(1)
