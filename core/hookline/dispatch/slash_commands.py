"""Registers and runs slash commands, which plugins define with ``@command`` on a method."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from hookline_hookspecs import Command, Inbound, Question
from hookline_hookspecs.command_source import CommandSource

from ..bus.implementation import PluginRefused, describe, error_text, is_plugin_error
from ..sessions.context import TurnContext
from ..text import clean


class SlashCommands:
    """Slash commands by name, ignoring case.

    Args:
        sources: returns what offers further commands; a registered command wins over those.
    """

    def __init__(self, sources: Callable[[], Iterable[CommandSource]]) -> None:
        self._commands: dict[str, tuple[str, Command]] = {}
        self._sources = sources

    def register(self, command: Command, plugin: str) -> None:
        """Add a command under its name and aliases. Raises ``PluginRefused`` if one is taken."""
        command = replace(command, source=command.source or f"plugin {plugin}")
        names = {name.casefold(): name for name in (command.name, *command.aliases)}
        for key, name in names.items():
            if key in self._commands:
                raise PluginRefused(
                    f"its command {name} belongs to plugin {self._commands[key][0]}"
                )
        self._commands |= dict.fromkeys(names, (plugin, command))

    def unregister(self, plugin: str) -> None:
        """Remove a plugin's commands."""
        self._commands = {n: pair for n, pair in self._commands.items() if pair[0] != plugin}

    def find(self, text: str) -> tuple[str, Command, str] | None:
        """The plugin, command and arguments of a message; None if it is not a known command."""
        name, *rest = text.split(None, 1) or [""]
        key = name.casefold()
        pair = self._commands.get(key) or self._offered().get(key)
        return (*pair, rest[0].strip() if rest else "") if pair else None

    def _offered(self) -> dict[str, tuple[str, Command]]:
        """The commands of the sources by name and alias, without those that are taken."""
        found: dict[str, tuple[str, Command]] = {}
        for source in self._sources():
            for command in source.commands():
                names = [name.casefold() for name in (command.name, *command.aliases)]
                free = [name for name in names if name not in self._commands and name not in found]
                if free:
                    named = command.source or f"plugin {source.plugin}"
                    kept = replace(command, name=free[0], aliases=tuple(free[1:]), source=named)
                    found |= dict.fromkeys(free, (source.plugin, kept))
        return found

    def all(self) -> list[Command]:
        """Every command once, sorted by name."""
        offered = {command.name: command for _, command in self._offered().values()}
        found = offered | {command.name: command for _, command in self._commands.values()}
        return [found[name] for name in sorted(found)]

    async def run(self, ctx: TurnContext, inbound: Inbound) -> str | Question:
        """Run the command in a message and return its answer, or a sentence if it fails."""
        found = self.find(inbound.text)
        if found is None:
            return f"Unknown command {inbound.text.split(None, 1)[0]}. Try /help."
        plugin, command, args = found
        ctx = TurnContext(ctx.engine, ctx.state, ctx.active, message=inbound, mode=ctx.mode)
        if command.audience == "operator" and not ctx.operator:
            return f"{command.name} works only in the terminal and in an admin's private chat."
        try:
            with ctx.activate():
                view: Any = ctx.of(plugin)
                result: Any = command.run(view, args)
                if inspect.isawaitable(result):
                    result = await result
        except BaseException as error:
            if ctx.engine.strict or not is_plugin_error(error):
                raise
            reason = error_text(error) or describe(error)
            return f"{command.name} failed: {reason} (plugin {plugin})"
        if isinstance(result, Question):
            return result
        return clean(str(result)) if result else ""
