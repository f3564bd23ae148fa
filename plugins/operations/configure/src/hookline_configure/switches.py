"""``hookline plugins enable`` and ``disable``.

Imported when the command line is built, because of Typer.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, entry_points, metadata
from typing import Annotated

import typer
from hookline_hookspecs import CommandError, Configuration, HooklineError, Host

from .commands import sentences, warn
from .file import ConfigFile
from .kinds import fault_of, installed, kind_of
from .needs import lacking, told_of_need

PREFIX = "hookline-"
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Install what is missing without asking.")]


class SwitchCommands:
    """The commands for the home of ``host``."""

    def __init__(self, host: Host) -> None:
        self._core = host.services[Configuration]
        self._file = ConfigFile(host)

    def enable(self, names: list[str], yes: Yes = False) -> None:
        """Switch plugins on in config.yaml, with those they need; install what is missing."""
        self._enable(dict.fromkeys(names), yes)

    def _enable(self, names: Iterable[str], yes: bool, needed_by: str = "") -> None:
        for name in names:
            if not _is_installed(name):
                self._bring(name, yes)  # the installer switches on what it has installed
                continue
            if (fault := fault_of(name)) is not None:
                raise CommandError(fault)
            with sentences():
                needs = lacking(self._core, name)
            self._enable(needs, yes, name)
            self._switch(name, "true")
            why = f", because {needed_by} needs it" if needed_by else ""
            typer.echo(f"{name} is on in {self._file.path}{why}")

    def disable(self, names: list[str]) -> None:
        """Switch plugins off in config.yaml, keeping their settings."""
        for name in dict.fromkeys(names):
            self._refuse_unknown(name)
            self._switch(name, "false")
            typer.echo(f"{name} is off in {self._file.path}")
        with suppress(HooklineError):  # where config cannot be read, the next start says so
            warn(filter(None, [told_of_need(self._core, name) for name in dict.fromkeys(names)]))

    def _refuse_unknown(self, name: str) -> None:
        if _is_installed(name) and kind_of(name) == name:
            return
        with sentences():
            known = name in self._core.effective()["plugins"]
        if not known and name in known_plugins():
            raise CommandError(f"{name} is not installed, so it is off already.")
        if not known:
            raise CommandError(_no_plugin(name))

    def _bring(self, name: str, yes: bool) -> None:
        """Install a plugin of Hookline's own, or name the command that does."""
        from .clone import is_there
        from .environment import install_command

        _refuse_drivers(name)
        if kind_of(name) != name and kind_of(name) in known_plugins():
            raise CommandError(f"{kind_of(name)} is not installed, so there cannot be several yet.")
        if name not in known_plugins():
            raise CommandError(_no_plugin(name))
        if is_there(f"{PREFIX}{name}"):
            raise CommandError(f"{name} is no plugin to switch on; Hookline takes it by itself.")
        if self._has_installer():
            _hand_over(name, yes)
            return
        raise CommandError(
            f"{name} is not installed. Install it with\n  {install_command(name)}\n"
            f"and run `hookline plugins enable {name}` again."
        )

    def _has_installer(self) -> bool:
        if not _is_installed("installer"):
            return False
        try:
            return bool(self._core.effective()["plugins"].get("installer"))
        except HooklineError:
            return True  # a wrong config takes the command away from nobody

    def _switch(self, name: str, value: str) -> None:
        with sentences():
            warn(self._file.set(f"plugins.{name}", value))


def _hand_over(name: str, yes: bool) -> None:
    """Install the plugin with ``hookline plugins install``, which shows what it does and asks."""
    if not yes and not sys.stdin.isatty():
        raise CommandError(
            f"{name} is not installed, and there is no terminal to ask on; this installs it and "
            f"switches it on: hookline plugins enable {name} --yes"
        )
    typer.echo(f"{name} is not installed yet.")
    command = ["plugins", "install", f"{PREFIX}{name}", *(["--yes"] if yes else [])]
    done = subprocess.run([sys.executable, "-P", "-m", "hookline", *command], check=False)
    if done.returncode:
        raise typer.Exit(done.returncode)


def known_plugins() -> set[str]:
    """The names that Hookline itself gives to a package: by its extras, or in its clone.

    Only these are ever installed: on a package index, a misspelt name may be somebody else's.
    """
    from .clone import clone

    try:
        needed = metadata("hookline").get_all("Requires-Dist") or []
    except PackageNotFoundError:
        needed = []
    dists = (text.split(";")[0].split("[")[0].split("=")[0].strip(" <>~!") for text in needed)
    source = clone()
    return {dist.removeprefix(PREFIX) for dist in dists if dist.startswith(PREFIX)} | (
        source.plugins if source else set()
    )


def _no_plugin(name: str) -> str:
    import difflib

    known = known_plugins() | {point.name for point in entry_points(group="hookline.plugins")}
    near = difflib.get_close_matches(name.removeprefix(PREFIX), sorted(known), 1)
    if near:
        return (
            f"there is no plugin {name}. Did you mean {near[0]}? "
            "`hookline plugins list` shows those there are."
        )
    return (
        f"there is no plugin {name}. `hookline plugins list` shows those there are; somebody "
        "else's is installed first, from where you have it, with `hookline plugins install SPEC`."
    )


def _refuse_drivers(name: str) -> None:
    for kind, setting in (("provider", f"model: {name}/MODEL"), ("store", f"store: {name}")):
        if entry_points(group=f"hookline.{kind}s", name=name):
            raise CommandError(
                f"{name} is a {kind}, not a plugin; choose it with `{setting}` in config.yaml"
            )


def _is_installed(plugin: str) -> bool:
    return bool(installed(plugin))
