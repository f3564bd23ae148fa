"""Imports, checks, creates, registers and sets up plugins one by one.

A plugin that fails gets the state ``failed`` and a reason; the process and other plugins continue.
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
from hookline_hookspecs.plugin import needs_restart
from hookline_hookspecs.tools import TOOL_MARK

from ..bus.implementation import (
    PluginRefused,
    describe,
    error_location,
    error_text,
    reraise_control_flow,
)
from ..config import Loaded, PluginEntry, SettingsError, validate_settings
from ..dispatch.outbox import Channels
from ..dispatch.slash_commands import SlashCommands
from ..engine import Engine
from .discovery import (
    check_class,
    find_class,
    find_new_installs,
    forget_module,
    installed,
    installed_guards,
    load_file,
    may_be_guard,
)
from .host import PluginHost

log = logging.getLogger("hookline.plugins")
_INSTANCE_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
MakeHost: TypeAlias = Callable[[str, str], PluginHost]


@dataclass(slots=True)
class PluginStatus:
    """A plugin that config names. ``state`` is ``on``, ``off``, ``missing`` or ``failed``.

    ``logged`` is the last reason that was logged with a traceback.
    """

    entry: PluginEntry
    state: str = "off"
    reason: str = ""
    plugin: Plugin[Any] | None = None
    host: PluginHost | None = None
    tools: list[Tool] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    is_loaded: bool = False
    is_set_up: bool = False
    logged: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass
class Plugins:
    """Every plugin that config names, in call order.

    Args:
        engine: where plugins and their tools are registered.
        commands: where their slash commands are registered.
        channels: where their channels are registered.
        make_host: creates a plugin's host from its name and package.
        classes: plugin classes by name, used instead of entry points.
    """

    engine: Engine
    commands: SlashCommands
    channels: Channels
    make_host: MakeHost
    classes: Mapping[str, Any]
    statuses: dict[str, PluginStatus] = field(default_factory=dict)

    def load(self, only: Collection[str] | None = None) -> None:
        """Import, create and register every enabled plugin that is not loaded yet.

        With ``only``, consider only plugins of these names.
        """
        for rank, entry in enumerate(self.engine.loaded.plugins.values()):
            status = self.statuses.setdefault(entry.name, PluginStatus(entry))
            if entry.error:
                status.state, status.reason = "failed", entry.error
                self._note_missing_guard(status)
            elif entry.enabled and not status.is_loaded and (only is None or entry.name in only):
                status.is_loaded = True
                self._load_one(status, rank, self.engine.loaded)
        if only is None:
            for status, reason in self._missing_requirements():
                self._fail(status, reason, None)

    def _load_one(self, status: PluginStatus, rank: int, loaded: Loaded) -> None:
        """Load a plugin; ``loaded`` is the config that its entry comes from."""
        name, kind = status.entry.name, status.entry.kind
        try:
            _check_name(name)
            found = self.classes.get(name) or self.classes.get(kind) or self._find_class(status)
            if found is None:
                if status.entry.named:
                    status.state = "missing"
                    status.reason = f"not installed (hookline plugins enable {name})"
                    self._note_missing_guard(status)
                return
            status.plugin = self._create(status, found, loaded)
            self.engine.bus.register(name, status.plugin, rank)
            self._register_parts(status)
            status.state = "on"
        except BaseException as error:
            reraise_control_flow(error)
            known = isinstance(error, (PluginRefused, SettingsError))
            reason = error_text(error) if known else describe(error) + error_location(error)
            self._fail(status, reason, error)

    @staticmethod
    def _find_class(status: PluginStatus) -> Any:
        """Import the plugin's class from its file or its package; None if it is not installed."""
        entry = status.entry
        if entry.file is None:
            return find_class(entry.kind)
        if not entry.standard and entry.name not in installed():
            return load_file(entry.file)
        status.warnings.append(f"{entry.file} is not used: a package provides plugin {entry.name}")
        return find_class(entry.kind)

    def _create(
        self, status: PluginStatus, found: type[Plugin[Any]], config: Loaded
    ) -> Plugin[Any]:
        name = status.entry.name
        check_class(found)
        if name != status.entry.kind and not found.multiple:
            raise PluginRefused(
                f"{status.entry.kind} can be used only once, under its own name; remove {name}"
            )
        settings, warnings = validate_settings(found.config_class, status.entry, config)
        status.warnings += warnings
        self.engine.hide_secrets(settings)
        host: Any = self.make_host(name, found.__module__.split(".")[0])
        status.host = self.engine.hosts[name] = host
        return found(settings, host)

    def _register_parts(self, status: PluginStatus) -> None:
        """Register tools and commands from decorators, then tools from ``register_tools``."""
        name, plugin = status.entry.name, status.plugin
        for attribute, function in inspect.getmembers(type(plugin), inspect.isfunction):
            method = getattr(plugin, attribute)
            if hasattr(function, TOOL_MARK):
                options = dict(getattr(function, TOOL_MARK))
                for option in ("effects", "preview", "hidden"):
                    if callable(options.get(option)):
                        options[option] = MethodType(options[option], plugin)
                self._add_tool(status, Tool.from_function(method, **options))
            if hasattr(function, COMMAND_MARK):
                command, options = getattr(function, COMMAND_MARK)
                _check_signature(command, method)
                if complete := options.get("complete"):
                    options = options | {"complete": MethodType(complete, plugin)}
                doc = (inspect.getdoc(function) or "").split("\n")[0]
                self._add_command(status, Command(command, doc, method, **options))
        self.engine.bus.gather("register_tools", lambda _: partial(self._add_tool, status), name)

    def _add_tool(self, status: PluginStatus, tool: Tool) -> None:
        self.engine.tools.register(tool, status.entry.name)
        status.tools.append(tool)

    def _add_command(self, status: PluginStatus, command: Command) -> None:
        command = replace(command, category=command.category or status.entry.name)
        self.commands.register(command, status.entry.name)
        status.commands.append(command)

    def _missing_requirements(self) -> Iterator[tuple[PluginStatus, str]]:
        """Yield each plugin that is on but lacks a required plugin, with the reason.

        The caller switches it off; the plugins that require it are then yielded too.
        """
        found = True
        while found:
            found = False
            for status in [*self.statuses.values()]:
                if status.plugin is None or status.state != "on":
                    continue
                on = {one.entry.kind for one in self.statuses.values() if one.state == "on"}
                missing = [name for name in status.plugin.requires if name not in on]
                if missing:
                    found = True
                    yield (
                        status,
                        f"it requires plugin {', '.join(missing)}, which is not on "
                        f"(hookline plugins enable {missing[0]})",
                    )

    def _fail(self, status: PluginStatus, reason: str, error: BaseException | None) -> None:
        """Unregister everything of a plugin and record the reason."""
        name = status.entry.name
        self._unregister(status)
        status.state, status.reason, status.plugin = "failed", reason, None
        self._note_missing_guard(status)
        shown = error if reason != status.logged else None
        log.warning("plugin %s is not on: %s", name, reason, exc_info=shown)
        status.logged = reason
        if self.engine.strict and error is not None:
            raise error

    def _note_missing_guard(self, status: PluginStatus) -> None:
        """Refuse everything that a guard decides about, and all turns, while it has failed."""
        name, file = status.entry.name, status.entry.file
        if status.entry.kind in installed_guards() or (file is not None and may_be_guard(file)):
            again = "then restart Hookline"
            if not self._needs_start(status):
                again = "the next message tries again"
            self.engine.bus.missing_guards[name] = (
                f"No turn can start: the guard {name!r} is on in config.yaml but could not be "
                f"loaded: {status.reason.rstrip('.')}. Correct that, or run "
                f"`hookline plugins disable {name}`; {again}."
            )

    def _unregister(self, status: PluginStatus) -> None:
        name = status.entry.name
        self.engine.bus.unregister(name)
        self.engine.tools.unregister(name)
        self.commands.unregister(name)
        self.channels.unregister(name)
        status.tools, status.commands = [], []

    async def setup(self, only: str | None = None) -> None:
        """Call ``setup`` of each plugin. If it fails, everything of the plugin is undone.

        With ``only``, set up the plugin of this name.
        """
        bus = self.engine.bus
        for impl in bus.implementations("setup"):
            if only not in (None, impl.plugin):
                continue
            status = self.statuses[impl.plugin]
            try:
                await bus.attempt(impl, None, status.host)
                await asyncio.sleep(0)  # so that spawned tasks start and can clean up
            except BaseException as error:
                reraise_control_flow(error)
                await self._undo_setup(status)
                reason = describe(error, impl.deadline)
                self._fail(status, f"setup: {reason}", error)
        for status in self.statuses.values():
            status.is_set_up = status.state == "on"
        for status, reason in self._missing_requirements():
            await self.teardown([status.entry.name])
            self._fail(status, reason, None)
        bus.gather(
            "register_channels",
            lambda plugin: lambda channel: self.channels.register(channel, plugin),
            only,
        )

    async def teardown(self, only: Iterable[str] | None = None) -> None:
        """Call ``teardown`` of plugins that are set up, then undo what they added."""
        bus = self.engine.bus
        names = set(self.statuses if only is None else only)
        for impl in bus.implementations("teardown"):
            status = self.statuses[impl.plugin]
            if impl.plugin in names and status.is_set_up:
                try:
                    await bus.attempt(impl, None, status.host)
                except BaseException as error:
                    reraise_control_flow(error)
                    reason = describe(error, impl.deadline)
                    log.warning("plugin %s failed in teardown: %s", impl.plugin, reason)
        for name in names:
            await self._undo_setup(self.statuses[name])

    @staticmethod
    async def _undo_setup(status: PluginStatus) -> None:
        status.is_set_up = False
        if status.host is not None:
            await status.host.undo()

    async def switch_off(self, name: str) -> bool:
        """Stop a plugin now. Running sessions still offer its tools; calls return an error."""
        status = self.statuses.get(name)
        if status is None:
            return False
        if name in self.engine.bus.missing_guards:
            del self.engine.bus.missing_guards[name]
            status.state, status.reason = "off", "switched off while running"
            return True
        if status.state != "on":
            return False
        self.engine.tools.unregister(name)
        await self.teardown([name])
        self._unregister(status)
        status.state, status.reason = "off", "switched off while running"
        return True

    async def switch_on(self, name: str, loaded: Loaded) -> str | None:
        """Load a plugin that a changed config turns on, and set it up.

        Returns why it is not on; empty if it is; None if only the next start can take it. Running
        sessions get its hooks, and keep their prompt without its tools.
        """
        entry = loaded.plugins[name]
        status = self.statuses.setdefault(name, PluginStatus(entry))
        if status.state == "on":
            return ""
        status.entry, status.is_loaded, status.reason, status.warnings = entry, True, "", []
        find_new_installs()
        if self._needs_start(status):
            status.reason = "it needs a restart"
            return None
        self.engine.loaded.plugins[name] = entry
        await self._start(status, loaded)
        return status.reason

    async def _start(self, status: PluginStatus, loaded: Loaded) -> None:
        """Load a plugin and set it up; if it is a missing guard, it is one until that is done."""
        name = status.entry.name
        self._load_one(status, [*self.engine.loaded.plugins].index(name), loaded)
        if status.state == "on":
            await self.setup(name)
        if status.state == "on":
            self.engine.bus.missing_guards.pop(name, None)

    async def retry_guards(self, loaded: Loaded) -> None:
        """Load the missing guards again with a config, and forget those that it turns off."""
        for name in [*self.engine.bus.missing_guards]:
            entry = loaded.plugins.get(name)
            if entry is None or entry.error is not None:
                continue  # perhaps the file is just being written
            if not entry.enabled:
                await self.switch_off(name)
            elif not self._needs_start(self.statuses[name]):
                await self.switch_on(name, loaded)

    def _needs_start(self, status: PluginStatus) -> bool:
        """True if a plugin has parts, or requires plugins, that only a start can take."""
        try:
            found = self.classes.get(status.entry.kind) or self._find_class(status)
        except BaseException as error:
            reraise_control_flow(error)
            return False  # loading it reports the error
        if not (inspect.isclass(found) and issubclass(found, Plugin)):
            return False
        on = {one.entry.kind for one in self.statuses.values() if one.state == "on"}
        return needs_restart(found) or not on.issuperset(found.requires)

    async def reload(self, name: str) -> str:
        """Import a plugin's code again and set it up. Returns why it is not on; empty if it is.

        Running sessions keep their prompt, with the tools that it offers.
        """
        status = self.statuses[name]
        await self.switch_off(name)
        status.reason = "it is being loaded again"
        self._note_missing_guard(status)  # until it is set up
        forget_module(status.entry.kind, status.entry.file)
        status.reason, status.warnings = "", []
        await self._start(status, self.engine.loaded)
        return status.reason

    async def switch_off_files(self) -> None:
        """Switch off single-file plugins that config does not name, before others are served."""
        for name, status in self.statuses.items():
            is_added = status.entry.file is not None and not status.entry.named
            if is_added and await self.switch_off(name):
                status.reason = "off in a gateway, as config.yaml does not name it"
                log.warning("plugin %s is %s (`plugins: {%s: true}`)", name, status.reason, name)

    def state(self, name: str) -> str:
        """The plugin's state; ``off`` for a name that is not in config."""
        return self.statuses[name].state if name in self.statuses else "off"

    def instances(self) -> dict[str, Plugin[Any]]:
        """The plugins that are on, by name."""
        return {name: one.plugin for name, one in self.statuses.items() if one.plugin is not None}

    def host(self, name: str) -> PluginHost | None:
        """The plugin's host, if it was created."""
        return self.statuses[name].host if name in self.statuses else None


def _check_name(name: str) -> None:
    kind, colon, instance = name.partition(":")
    if colon and not (kind and _INSTANCE_NAME.fullmatch(instance)):
        raise PluginRefused(
            "not a plugin name; write KIND or KIND:NAME, such as telegram:work, where NAME is a "
            "lowercase letter, then up to 31 lowercase letters, digits, _ or -"
        )


def _check_signature(name: str, method: Callable[..., Any]) -> None:
    try:
        inspect.signature(method).bind(None, "")
    except TypeError:
        raise PluginRefused(f"command {name}: its method must take (self, ctx, args)") from None
