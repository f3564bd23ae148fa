"""``hookline profile``: create, list, use, export, delete. No database is opened."""

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
from hookline_hookspecs.hooks.boot import RegisterCli

from .folders import Folders, ProfileError, environment_for, is_served

T = TypeVar("T")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The profile; default is the home.")]
Json = Annotated[bool, typer.Option("--json", help="JSON.")]


class Commands:
    """One method for each command."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folders = Folders(home)

    def register(self, register: RegisterCli) -> None:
        """Register ``profile create|list|use|export|delete``."""
        register("profile create", self.create, help="Make a profile: an agent of its own.")
        register("profile list", self.list_, help="The profiles, and which is in use.")
        register("profile use", self.use, help="Use a profile in every command from now on.")
        register("profile export", self.export, help="Back a profile up, without its secrets.")
        register("profile delete", self.delete, help="Put a profile away.")

    def create(
        self,
        name: Annotated[
            str, typer.Argument(metavar="NAME", help="Small letters, digits, - and _.")
        ],
        clone: Annotated[
            bool, typer.Option("--clone", help="With this profile's settings, keys and skills.")
        ] = False,
    ) -> None:
        """Make a profile: empty, or set up as the one in use."""
        folder = _or_stop(lambda: self._folders.create(name, self._home if clone else None))
        typer.echo(f"{folder} is made.")
        if clone and (folder / ".env").exists():
            typer.echo(
                "It has the same keys. One bot cannot serve two profiles: give it tokens of its "
                "own."
            )
        first = "" if clone else " init"
        typer.echo(
            f"hookline -p {name}{first} uses it once, hookline profile use {name} from now on."
        )

    def list_(self, json: Json = False) -> None:
        """The profiles."""
        active = self._folders.active
        rows: list[dict[str, Any]] = [
            {
                "name": name,
                "home": str(self._folders.folder(name)),
                "active": name == active,
                "gateway": is_served(self._folders.folder(name)),
            }
            for name in self._folders.names()
        ]
        if json:
            typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
            return
        for row in rows:
            told = "  gateway runs" if row["gateway"] else ""
            typer.echo(f"{'*' if row['active'] else ' '} {row['name']:<20}{row['home']}{told}")

    def use(self, name: Name) -> None:
        """Use a profile in every command that does not name another with -p."""
        before = _or_stop(lambda: self._folders.use(name))
        typer.echo(
            f"Every command uses the profile {name} now; `hookline profile use {before}` goes back."
        )
        if is_served(self._folders.folder(before)) and before != name:
            typer.echo(f"The gateway that runs goes on with {before}.")

    def export(
        self,
        name: Name,
        out: Annotated[Path | None, typer.Option(help="The file; else NAME.tar.zst here.")] = None,
    ) -> None:
        """Back a profile up into a file, for another machine; without its secrets."""
        folder = _or_stop(lambda: self._folders.existing(name))
        try:
            version("hookline-backup")
        except PackageNotFoundError:
            _stop("exporting needs the plugin backup; install hookline-backup")
        path = (out or Path(f"{name}.tar.zst")).absolute()
        words = [sys.executable, "-m", "hookline", "backup", "create", "--out", str(path)]
        done = subprocess.run(words, env=environment_for(folder, name, os.environ), check=False)
        if done.returncode:
            raise SystemExit(done.returncode)
        typer.echo(f"`hookline backup restore {path.name} --to HOME` makes a home of it.")

    def delete(
        self, name: Name, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
    ) -> None:
        """Put a profile away; its folder is kept until you remove it."""
        folder = _or_stop(lambda: self._folders.existing(name))
        if not yes and not (sys.stdin.isatty() and typer.confirm(f"Put {folder} away?")):
            _stop(f"nothing was changed; `hookline profile delete {name} --yes` does it")
        away = _or_stop(lambda: self._folders.delete(name))
        typer.echo(
            f"{name} is gone from the list. All of it is in {away}; move it back to undo this."
        )


def _or_stop(work: Callable[[], T]) -> T:
    try:
        return work()
    except ProfileError as error:
        _stop(str(error))
        raise


def _stop(sentence: str) -> None:
    typer.echo(f"hookline: {sentence}", err=True)
    raise SystemExit(1)
