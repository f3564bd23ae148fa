"""Turns plugins on and off in config.yaml, and installs missing ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, entry_points, metadata

import typer
from hookline_hookspecs import CommandError, Configuration, HooklineError
from hookline_hookspecs.cli import command_line

from .config_file import config_file
from .dependencies import dependents_warning, missing_dependencies
from .output import as_command_errors, warn
from .plugin_names import installed_entry_points, kind_of, naming_problem

PREFIX = "hookline-"


def enable_plugins(names: Iterable[str], *, install: bool, needed_by: str = "") -> None:
    """Turn plugins on in config.yaml, with those they need.

    Missing plugins are installed, without asking if ``install`` is set. ``needed_by`` is the plugin
    that requires them.
    """
    line = command_line()
    for name in names:
        if not _is_plugin_installed(name):
            _install(name, install)  # this also turns it on
            continue
        if (problem := naming_problem(name)) is not None:
            raise CommandError(problem)
        with as_command_errors():
            missing = missing_dependencies(line.configuration, name)
        enable_plugins(missing, install=install, needed_by=name)
        _switch(name, "true")
        why = f", because {needed_by} needs it" if needed_by else ""
        typer.echo(f"{name} is on in {config_file().path}{why}")


def disable_plugins(names: Iterable[str]) -> None:
    """Turn plugins off in config.yaml, keeping their settings."""
    core = command_line().configuration
    names = list(dict.fromkeys(names))
    for name in names:
        _refuse_unknown(core, name)
        _switch(name, "false")
        typer.echo(f"{name} is off in {config_file().path}")
    with suppress(HooklineError):  # if config cannot be read, the next start reports it
        warn(filter(None, [dependents_warning(core, name) for name in names]))


def _refuse_unknown(core: Configuration, name: str) -> None:
    if _is_plugin_installed(name) and kind_of(name) == name:
        return
    with as_command_errors():
        known = name in core.effective()["plugins"]
    if not known and name in known_plugins():
        raise CommandError(f"{name} is not installed, so it is off already.")
    if not known:
        raise CommandError(_unknown_plugin(name))


def _install(name: str, yes: bool) -> None:
    """Install one of Hookline's own plugins, or name the command that does."""
    from .install_command import install_command
    from .source_clone import is_dist_installed

    _refuse_drivers(name)
    if kind_of(name) != name and kind_of(name) in known_plugins():
        raise CommandError(f"{kind_of(name)} is not installed. Enable it first under its own name.")
    if name not in known_plugins():
        raise CommandError(_unknown_plugin(name))
    if is_dist_installed(f"{PREFIX}{name}"):
        raise CommandError(f"{name} is not a plugin to turn on; Hookline uses it by itself.")
    if _has_installer():
        _run_installer(name, yes)
        return
    raise CommandError(
        f"{name} is not installed. Install it with\n  {install_command(name)}\n"
        f"and run `hookline plugins enable {name}` again."
    )


def _has_installer() -> bool:
    if not _is_plugin_installed("installer"):
        return False
    try:
        return bool(command_line().configuration.effective()["plugins"].get("installer"))
    except HooklineError:
        return True  # the command stays usable while config is wrong


def _switch(name: str, value: str) -> None:
    with as_command_errors():
        warn(config_file().set(f"plugins.{name}", value))


def _run_installer(name: str, yes: bool) -> None:
    """Install the plugin with ``hookline plugins install``, which shows its plan and asks."""
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
    """The names of Hookline's own plugins: those of its extras, and those in its source clone.

    Only these are ever installed: on a package index, a misspelt name may be another person's
    package.
    """
    from .source_clone import find_clone

    try:
        needed = metadata("hookline").get_all("Requires-Dist") or []
    except PackageNotFoundError:
        needed = []
    dists = (text.split(";")[0].split("[")[0].split("=")[0].strip(" <>~!") for text in needed)
    source = find_clone()
    return {dist.removeprefix(PREFIX) for dist in dists if dist.startswith(PREFIX)} | (
        source.plugins if source else set()
    )


def _unknown_plugin(name: str) -> str:
    import difflib

    known = known_plugins() | {point.name for point in entry_points(group="hookline.plugins")}
    near = difflib.get_close_matches(name.removeprefix(PREFIX), sorted(known), 1)
    if near:
        return (
            f"unknown plugin {name}. Did you mean {near[0]}? "
            "`hookline plugins list` shows all plugins."
        )
    return (
        f"unknown plugin {name}. `hookline plugins list` shows all plugins. To install "
        "a third-party plugin, run `hookline plugins install SPEC`."
    )


def _refuse_drivers(name: str) -> None:
    for kind, setting in (("provider", f"model: {name}/MODEL"), ("store", f"store: {name}")):
        if entry_points(group=f"hookline.{kind}s", name=name):
            raise CommandError(
                f"{name} is a {kind}, not a plugin. Choose it with `{setting}` in config.yaml"
            )


def _is_plugin_installed(plugin: str) -> bool:
    return bool(installed_entry_points(plugin))
