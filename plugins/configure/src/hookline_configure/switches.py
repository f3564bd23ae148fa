"""``hookline plugins enable`` and ``disable``.

Imported when the command line is built, because of Typer.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, entry_points, metadata
from typing import Annotated

import typer
from hookline_hookspecs import CommandError, Configuration, Host

from .commands import sentences, warn
from .file import ConfigFile

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Install what is missing without asking.")]
PREFIX = "hookline-"


class SwitchCommands:
    """The commands for the home of ``host``."""

    def __init__(self, host: Host) -> None:
        self._core = host.services[Configuration]
        self._file = ConfigFile(host)

    def enable(self, name: str, yes: Yes = False) -> None:
        """Switch a plugin on in config.yaml; install it first if it is one of Hookline's own."""
        if not _is_installed(name):
            _refuse_drivers(name)
            _bring(name, yes)  # the installer switches on what it has installed
            return
        self._switch(name, "true")
        typer.echo(f"{name} is on in {self._file.path}")

    def disable(self, name: str) -> None:
        """Switch a plugin off in config.yaml, keeping its settings."""
        if not _is_installed(name):
            with sentences():
                known = name in self._core.effective()["plugins"]
            if not known:
                raise CommandError(_no_plugin(name))
        self._switch(name, "false")
        typer.echo(f"{name} is off in {self._file.path}")

    def _switch(self, name: str, value: str) -> None:
        with sentences():
            warn(self._file.set(f"plugins.{name}", value))


def _bring(name: str, yes: bool) -> None:
    """Install the plugin with ``hookline plugins install``, which shows what it does and asks.

    Only a name that Hookline itself gives to a package is installed: on a package index, a
    misspelt one may be somebody else's.
    """
    if name not in own_plugins():
        raise CommandError(_no_plugin(name))
    command = ["plugins", "install", f"{PREFIX}{name}"]
    if not entry_points(group="hookline.plugins", name="installer"):
        told = f"{sys.executable} -m pip install {PREFIX}{name}"
        raise CommandError(f"{name} is not installed; install it with: {told}")
    if not yes and not sys.stdin.isatty():
        raise CommandError(
            f"{name} is not installed, and there is no terminal to ask on; install it with: "
            f"hookline {' '.join(command)} --yes"
        )
    typer.echo(f"{name} is not installed yet.")
    words = [sys.executable, "-P", "-m", "hookline", *command, *(["--yes"] if yes else [])]
    done = subprocess.run(words, check=False)
    if done.returncode:
        raise typer.Exit(done.returncode)


def own_plugins() -> set[str]:
    """The names that follow ``hookline-`` in the packages that the package Hookline names."""
    try:
        needed = metadata("hookline").get_all("Requires-Dist") or []
    except PackageNotFoundError:
        return set()
    dists = (text.split(";")[0].split("=")[0].strip(" <>~!") for text in needed)
    return {dist.removeprefix(PREFIX) for dist in dists if dist.startswith(PREFIX)}


def _no_plugin(name: str) -> str:
    import difflib

    known = own_plugins() | {point.name for point in entry_points(group="hookline.plugins")}
    near = difflib.get_close_matches(name, sorted(known), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return (
        f"there is no plugin {name}; {hint}`hookline plugins list` shows those there are, and "
        "`hookline plugins install SPEC` installs one from where you have it."
    )


def _refuse_drivers(name: str) -> None:
    for kind, setting in (("provider", f"model: {name}/MODEL"), ("store", f"store: {name}")):
        if entry_points(group=f"hookline.{kind}s", name=name):
            raise CommandError(
                f"{name} is a {kind}, not a plugin; choose it with `{setting}` in config.yaml"
            )


def _is_installed(plugin: str) -> bool:
    return bool(entry_points(group="hookline.plugins", name=plugin))
