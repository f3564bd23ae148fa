"""Plugins: imported, checked, made, registered and set up one by one.

Whatever goes wrong with one of them is its own state; the process goes on.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MethodType
from typing import Any, TypeAlias

from hookline_hookspecs import Command, Plugin, Tool
from hookline_hookspecs.parts import COMMAND_MARK
from hookline_hookspecs.tools import TOOL_MARK

from ..bus.implementation import (
    PluginRefused,
    describe,
    error_location,
    error_text,
    reraise_control_flow,
)
from ..config import PluginEntry, SettingsError, validate_settings
from ..dispatch.outbox import Channels
from ..dispatch.slash_commands import SlashCommands
from ..engine import Engine
from .discovery import check_class, find_class
from .host import PluginHost

log = logging.getLogger("hookline.plugins")
_OWN_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
MakeHost: TypeAlias = Callable[[str, str], PluginHost]


@dataclass(slots=True)
class Loading:
    """One plugin and how far it came. ``state`` is ``on off missing failed``."""

    entry: PluginEntry
    state: str = "off"
    reason: str = ""
    plugin: Plugin[Any] | None = None
    host: PluginHost | None = None
    tools: list[Tool] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    is_loaded: bool = False
    is_set_up: bool = False
    warnings: list[str] = field(default_factory=list)


@dataclass
class Plugins:
    """Every plugin that config names, in call order.

    Args:
        engine: what plugins are registered with.
        commands: their slash commands.
        channels: their channels.
        make_host: makes a host of a plugin's name and its package.
        classes: plugin classes by name that need no entry point.
    """

    engine: Engine
    commands: SlashCommands
    channels: Channels
    make_host: MakeHost
    classes: Mapping[str, Any]
    loadings: dict[str, Loading] = field(default_factory=dict)

    def load(self, only: Collection[str] | None = None) -> None:
        """Import, check, make and register what is switched on and is not loaded yet.

        With ``only``, nothing but plugins of these names.
        """
        for rank, entry in enumerate(self.engine.loaded.plugins.values()):
            loading = self.loadings.setdefault(entry.name, Loading(entry))
            if entry.error:
                loading.state, loading.reason = "failed", entry.error
            elif entry.enabled and not loading.is_loaded and (only is None or entry.name in only):
                loading.is_loaded = True
                self._load_one(loading, rank)
        if only is None:
            for loading, reason in self._missing_requirements():
                self._fail(loading, reason, None)

    def _load_one(self, loading: Loading, rank: int) -> None:
        name, kind = loading.entry.name, loading.entry.kind
        try:
            _check_name(name)
            found = self.classes.get(name) or self.classes.get(kind) or find_class(kind)
            if found is None:
                if loading.entry.named:
                    loading.state = "missing"
                    loading.reason = (
                        "not installed; pip install what brings it; "
                        f"see `hookline plugins enable {name}`"
                    )
                return
            loading.plugin = self._make(loading, found)
            self.engine.bus.register(name, loading.plugin, rank)
            self._register_parts(loading)
            loading.state = "on"
        except BaseException as error:
            reraise_control_flow(error)
            known = isinstance(error, (PluginRefused, SettingsError))
            reason = error_text(error) if known else describe(error) + error_location(error)
            self._fail(loading, reason, error)

    def _make(self, loading: Loading, found: type[Plugin[Any]]) -> Plugin[Any]:
        name, config = loading.entry.name, self.engine.loaded
        check_class(found)
        if name != loading.entry.kind and not found.multiple:
            raise PluginRefused(
                f"{loading.entry.kind} can be used once only, under its own name; remove {name}"
            )
        settings, loading.warnings = validate_settings(found.config_class, loading.entry, config)
        self.engine.hide_secrets(settings)
        host: Any = self.make_host(name, found.__module__.split(".")[0])
        loading.host = self.engine.hosts[name] = host
        return found(settings, host)

    def _register_parts(self, loading: Loading) -> None:
        """Tools and commands from decorators, then from the ``register_*`` hooks."""
        name, plugin = loading.entry.name, loading.plugin
        for attribute, function in inspect.getmembers(type(plugin), inspect.isfunction):
            method = getattr(plugin, attribute)
            if hasattr(function, TOOL_MARK):
                options = getattr(function, TOOL_MARK)
                if effects := options.get("effects"):
                    options = options | {"effects": MethodType(effects, plugin)}
                self._add_tool(loading, Tool.from_function(method, **options))
            if hasattr(function, COMMAND_MARK):
                command, options = getattr(function, COMMAND_MARK)
                _check_signature(command, method)
                if complete := options.get("complete"):
                    options = options | {"complete": MethodType(complete, plugin)}
                doc = (inspect.getdoc(function) or "").split("\n")[0]
                self._add_command(loading, Command(command, doc, method, **options))
        self.engine.bus.gather("register_tools", lambda _: partial(self._add_tool, loading), name)

    def _add_tool(self, loading: Loading, tool: Tool) -> None:
        self.engine.tools.register(tool, loading.entry.name)
        loading.tools.append(tool)

    def _add_command(self, loading: Loading, command: Command) -> None:
        command = replace(command, category=command.category or loading.entry.name)
        self.commands.register(command, loading.entry.name)
        loading.commands.append(command)

    def _missing_requirements(self) -> Iterator[tuple[Loading, str]]:
        """Plugins that are on and need one that is not, with the reason; until there are none."""
        for loading in [*self.loadings.values(), *self.loadings.values()] * 2:
            if loading.plugin is None or loading.state != "on":
                continue
            on = {one.entry.kind for one in self.loadings.values() if one.state == "on"}
            names = [n for n in loading.plugin.requires if n not in on]
            if names:
                told = f"it needs plugin {', '.join(names)}; switch it on in config.yaml"
                yield loading, f"{told} (hookline plugins enable {names[0]})"

    def _fail(self, loading: Loading, reason: str, error: BaseException | None) -> None:
        """Unregister all of a plugin and keep the reason."""
        name = loading.entry.name
        self._forget(loading)
        loading.state, loading.reason, loading.plugin = "failed", reason, None
        log.warning("plugin %s is not on: %s", name, reason, exc_info=error)
        if self.engine.strict and error is not None:
            raise error

    def _forget(self, loading: Loading) -> None:
        name = loading.entry.name
        self.engine.bus.unregister(name)
        self.engine.tools.unregister(name)
        self.commands.unregister(name)
        self.channels.unregister(name)
        loading.tools, loading.commands = [], []

    async def setup(self) -> None:
        """Call ``setup`` of each plugin; one that fails is undone completely."""
        bus = self.engine.bus
        for impl in bus.implementations("setup"):
            loading = self.loadings[impl.plugin]
            try:
                await bus.attempt(impl, None, loading.host)
                await asyncio.sleep(0)  # Tasks it has spawned start, so that they can clean up.
            except BaseException as error:
                reraise_control_flow(error)
                await self._undo(loading)
                reason = describe(error, impl.deadline)
                self._fail(loading, f"setup: {reason}", error)
        for loading in self.loadings.values():
            loading.is_set_up = loading.state == "on"
        for loading, reason in self._missing_requirements():
            await self.teardown([loading.entry.name])
            self._fail(loading, reason, None)
        bus.gather(
            "register_channels",
            lambda plugin: lambda channel: self.channels.register(channel, plugin),
        )

    async def teardown(self, only: Iterable[str] | None = None) -> None:
        """Call ``teardown`` where ``setup`` succeeded, then undo what the plugins left."""
        bus = self.engine.bus
        names = set(self.loadings if only is None else only)
        for impl in bus.implementations("teardown"):
            loading = self.loadings[impl.plugin]
            if impl.plugin in names and loading.is_set_up:
                try:
                    await bus.attempt(impl, None, loading.host)
                except BaseException as error:
                    reraise_control_flow(error)
                    reason = describe(error, impl.deadline)
                    log.warning("plugin %s failed in teardown: %s", impl.plugin, reason)
        for name in names:
            await self._undo(self.loadings[name])

    @staticmethod
    async def _undo(loading: Loading) -> None:
        loading.is_set_up = False
        if loading.host is not None:
            await loading.host.undo()

    async def switch_off(self, name: str) -> bool:
        """Stop a plugin now; sessions under way keep its tools as names that answer so."""
        loading = self.loadings.get(name)
        if loading is None or loading.state != "on":
            return False
        self.engine.tools.unregister(name)
        await self.teardown([name])
        self._forget(loading)
        loading.state, loading.reason = "off", "switched off while running"
        return True

    def state(self, name: str) -> str:
        """``on off missing failed``, or ``off`` for a name config does not hold."""
        return self.loadings[name].state if name in self.loadings else "off"

    def instances(self) -> dict[str, Plugin[Any]]:
        """The plugins that are on, by name."""
        return {name: one.plugin for name, one in self.loadings.items() if one.plugin is not None}

    def host(self, name: str) -> PluginHost | None:
        """The plugin's host, if it was made."""
        return self.loadings[name].host if name in self.loadings else None


def _check_name(name: str) -> None:
    kind, colon, own = name.partition(":")
    if colon and not (kind and _OWN_NAME.fullmatch(own)):
        rule = "NAME is a small letter, then up to 31 small letters, digits, _ or -"
        raise PluginRefused(
            f"no plugin is named so; write KIND or KIND:NAME, such as telegram:work, where {rule}"
        )


def _check_signature(name: str, method: Callable[..., Any]) -> None:
    try:
        inspect.signature(method).bind(None, "")
    except TypeError:
        raise PluginRefused(f"command {name}: its method must take (self, ctx, args)") from None
