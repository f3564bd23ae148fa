"""Turns plugins on and off in config.yaml, and installs missing ones."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.metadata import entry_points

import typer
from hookline_hookspecs import CommandError, Configuration, HooklineError
from hookline_hookspecs.cli import command_line, run_hookline
from hookline_hookspecs.plugin import needs_restart

from .config_file import config_file
from .dependencies import dependents_warning, missing_dependencies
from .output import as_command_errors, warn
from .plugin_names import PREFIX, installed_entry_points, kind_of, known_plugins, naming_problem


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


def gateway_notice(names: Sequence[str]) -> str:
    """Whether a running gateway takes the plugins by itself; empty if none runs."""
    try:
        gateway = json.loads(run_hookline("health", "--json"))
    except (CommandError, ValueError):  # none runs
        return ""
    process = f"The gateway (process {gateway['pid']})"
    waiting = [name for name in names if _needs_restart(name)]
    if waiting:
        return f"{process} runs without {', '.join(waiting)}. Restart it to apply this."
    return f"{process} takes {', '.join(names)} at its next message."


def _needs_restart(name: str) -> bool:
    """True if a running gateway cannot take a plugin, or does not watch config.yaml."""
    if not command_line().configuration.effective()["plugins"].get("configure"):
        return True
    try:
        return any(needs_restart(point.load()) for point in installed_entry_points(name))
    except Exception:  # the gateway reports what is wrong with it
        return False


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
