"""Switches plugins on and off in config.yaml."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, entry_points, metadata

import typer
from hookline_hookspecs import CommandError, Configuration, HooklineError
from hookline_hookspecs.cli import command_line

from .file import config_file
from .kinds import fault_of, installed, kind_of
from .needs import lacking, told_of_need
from .output import sentences, warn

PREFIX = "hookline-"


def enable_plugins(names: Iterable[str], *, install: bool, needed_by: str = "") -> None:
    """Switch plugins on in config.yaml, with those they need.

    One that is not installed is installed: without asking if ``install``.
    """
    line = command_line()
    for name in names:
        if not _is_installed(name):
            _install(name, install)  # this also switches it on
            continue
        if (fault := fault_of(name)) is not None:
            raise CommandError(fault)
        with sentences():
            needs = lacking(line.configuration, name)
        enable_plugins(needs, install=install, needed_by=name)
        _switch(name, "true")
        why = f", because {needed_by} needs it" if needed_by else ""
        typer.echo(f"{name} is on in {config_file().path}{why}")


def disable_plugins(names: Iterable[str]) -> None:
    """Switch plugins off in config.yaml, keeping their settings."""
    core, names = command_line().configuration, list(dict.fromkeys(names))
    for name in names:
        _refuse_unknown(core, name)
        _switch(name, "false")
        typer.echo(f"{name} is off in {config_file().path}")
    with suppress(HooklineError):  # where config cannot be read, the next start says so
        warn(filter(None, [told_of_need(core, name) for name in names]))


def _refuse_unknown(core: Configuration, name: str) -> None:
    if _is_installed(name) and kind_of(name) == name:
        return
    with sentences():
        known = name in core.effective()["plugins"]
    if not known and name in known_plugins():
        raise CommandError(f"{name} is not installed, so it is off already.")
    if not known:
        raise CommandError(_no_plugin(name))


def _install(name: str, yes: bool) -> None:
    """Install a plugin of Hookline's own, or name the command that does."""
    from .clone import is_there
    from .environment import install_command

    _refuse_drivers(name)
    if kind_of(name) != name and kind_of(name) in known_plugins():
        raise CommandError(f"{kind_of(name)} is not installed, so there cannot be several yet.")
    if name not in known_plugins():
        raise CommandError(_no_plugin(name))
    if is_there(f"{PREFIX}{name}"):
        raise CommandError(f"{name} is not a plugin to switch on; Hookline uses it by itself.")
    if _has_installer():
        _hand_over(name, yes)
        return
    raise CommandError(
        f"{name} is not installed. Install it with\n  {install_command(name)}\n"
        f"and run `hookline plugins enable {name}` again."
    )


def _has_installer() -> bool:
    if not _is_installed("installer"):
        return False
    try:
        return bool(command_line().configuration.effective()["plugins"].get("installer"))
    except HooklineError:
        return True  # a wrong config takes the command away from nobody


def _switch(name: str, value: str) -> None:
    with sentences():
        warn(config_file().set(f"plugins.{name}", value))


def _hand_over(name: str, yes: bool) -> None:
    """Install the plugin with ``hookline plugins install``, which shows what it does and asks."""
    if not yes and not sys.stdin.isatty():
        raise CommandError(
            f"{name} is not installed, and there is no terminal to ask on. Run "
            f"`hookline plugins enable {name} --yes` to install it."
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
            "`hookline plugins list` shows all plugins."
        )
    return (
        f"there is no plugin {name}. `hookline plugins list` shows all plugins. To install "
        "one that is not Hookline's own, run `hookline plugins install SPEC`."
    )


def _refuse_drivers(name: str) -> None:
    for kind, setting in (("provider", f"model: {name}/MODEL"), ("store", f"store: {name}")):
        if entry_points(group=f"hookline.{kind}s", name=name):
            raise CommandError(
                f"{name} is a {kind}, not a plugin. Choose it with `{setting}` in config.yaml"
            )


def _is_installed(plugin: str) -> bool:
    return bool(installed(plugin))
