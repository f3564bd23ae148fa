"""The commands that plugins register while Hookline runs, with the hook ``register_cli``."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import PluginFailure
from hookline_hookspecs.cli import CommandLine

from hookline.bus.implementation import describe

from .build import build_command, is_group
from .output import err

if TYPE_CHECKING:
    from hookline.runtime import Runtime

    from .catalog import Catalog


def register_commands(catalog: Catalog, runtime: Runtime, line: CommandLine) -> None:
    """Add the commands that the runtime's plugins register to the catalog.

    ``line`` runs ``async def`` commands. A command that cannot be added is a warning on stderr.
    """

    signals = runtime.bus.signals

    def add(plugin: str, name: str, command: Any, *, help: str = "") -> None:  # noqa: A002
        try:
            built = build_command(str(name).split()[-1], command, help)
            if help:
                built.help = help
            _run_coroutines(built, line)
            catalog.register(plugin, " ".join(str(name).split()), built)
        except Exception as error:
            if runtime.bus.strict:
                raise
            # The plugin's other commands are not lost.
            signals.send_failure(plugin, "register_cli", describe(error))

    signals.connect("plugin_failed", _warn)
    try:
        runtime.bus.gather("register_cli", lambda plugin: partial(add, plugin))
    finally:
        signals.disconnect("plugin_failed", _warn)
    for name, status in runtime.plugins.statuses.items():
        if status.state in ("failed", "missing"):
            catalog.failed[name] = status.reason


def _run_coroutines(command: Any, line: CommandLine) -> None:
    """Make every ``async def`` callback in the command run with the runtime open."""
    if is_group(command):
        for inner in command.commands.values():
            _run_coroutines(inner, line)
        return
    call = command.callback
    if inspect.iscoroutinefunction(inspect.unwrap(call)):
        command.callback = lambda **options: line.run(lambda _: call(**options))


def _warn(event: PluginFailure, **_rest: Any) -> None:
    reason = event.reason.removeprefix("ValueError: ")
    err(f"hookline: warning: plugin {event.plugin}: {event.hook}: {reason}")
