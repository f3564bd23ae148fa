"""What a running command can use: its plugin, the config and an open runtime."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hookline_hookspecs import CommandError, Configuration, HooklineError
from hookline_hookspecs.cli import InstalledCommand

from hookline.config import ConfigError, PluginEntry, load
from hookline.config.trusted_folders import FILE as TRUSTED_FOLDERS
from hookline.home import environment, find_home
from hookline.log import log_to_home

from .catalog import Catalog, CommandEntry, installed_commands
from .command_guards import prepare_process
from .ending_signals import EndingSignals
from .output import FAILED, INTERRUPTED, err
from .registered_commands import register_commands

if TYPE_CHECKING:
    from hookline.plugins.loader import PluginStatus
    from hookline.runtime import Runtime

T = TypeVar("T")
COLLECT_AFTER = 10_000
"""New objects after which the garbage collector runs. With Python's default of 700 it mostly scans
objects of running turns; with fifty turns this takes a fifth of the CPU time."""
BACKGROUND_SECONDS = 60.0
"""Seconds to wait for background work after a command."""


class CoreCommandLine:
    """Implements ``CommandLine``. Config is read once; if it is invalid, the defaults are used.

    Attributes:
        catalog: the commands.
        running: the command that runs.
        config_error: the error in the config, until it has been shown.
    """

    def __init__(self) -> None:
        self.running: CommandEntry | None = None
        self.config_error: ConfigError | None = None
        self._invalid: ConfigError | None = None
        try:
            self._loaded = load(find_home(), environment(), uses_project=True)
        except ConfigError as error:
            # This folder has no config, so this loads the defaults.
            self._loaded = load(Path(__file__).parent, {})
            self._invalid = self.config_error = error
        self._stamp = _config_stamp()
        self._runtime: Runtime | None = None
        self.warns_of_untrusted = True
        self.catalog = Catalog(installed_commands(), self._loaded.plugins, self._register_more, err)

    @property
    def home(self) -> Path:
        """The home folder."""
        return find_home()

    @property
    def store_url(self) -> str:
        """The value of ``store`` in config.yaml."""
        return self._loaded.config.store

    @property
    def is_strict(self) -> bool:
        """True if errors of plugins are raised (``HOOKLINE_STRICT=1``)."""
        return self._prepared().engine.strict

    @property
    def configuration(self) -> Configuration:
        """The config, for a command that reports its errors itself."""
        self.config_error = None
        found: Configuration = self._prepared().engine.services[Configuration]
        return found

    @property
    def commands(self) -> Sequence[InstalledCommand]:
        """Every command."""
        return self.catalog.describe()

    def plugin(self) -> Any:
        """The running command's plugin, before ``setup``.

        A command that works while its plugin is off gets it even if config.yaml switches it off.
        """
        name = self._plugin_name()
        entry = self._loaded.plugins.get(name)
        if (
            entry is not None
            and not entry.enabled
            and self.running is not None
            and self.running.works_when_off
        ):
            from hookline.runtime import Runtime

            plugins = Runtime(
                replace(self._loaded, plugins={name: PluginEntry(name)}), find_home()
            ).plugins
        else:
            self._switch_on(name)
            plugins = self._prepared().plugins
        plugins.load([name])
        return _usable(name, plugins.statuses.get(name)).plugin

    def run(
        self,
        work: Callable[[Any], Coroutine[Any, Any, T]],
        *,
        warns_of_untrusted: bool = True,
        **settings: object,
    ) -> T:
        """Open the runtime, await ``work`` with the running command's plugin, return the result."""
        self.warns_of_untrusted = warns_of_untrusted
        name = self._plugin_name()

        async def with_plugin(runtime: Runtime) -> T:
            result = await work(_usable(name, runtime.plugins.statuses.get(name)).plugin)
            await runtime.finish_background(BACKGROUND_SECONDS)
            return result

        return self.open(with_plugin, name, settings)

    def open(
        self,
        work: Callable[[Runtime], Coroutine[Any, Any, T]],
        plugin: str = "",
        settings: dict[str, object] | None = None,
    ) -> T:
        """Open the runtime and await ``work`` in it.

        Raises:
            CommandError: the config is invalid, or ``work`` raised a ``HooklineError``.
        """
        if self._invalid is not None and self._stamp == _config_stamp():
            self.config_error = None
            raise CommandError(str(self._invalid))
        signals = EndingSignals()
        try:
            runtime = self._ready(plugin, settings or {})
            return asyncio.run(_in_runtime(runtime, work, signals))
        except ConfigError as error:
            raise CommandError(str(error)) from None
        except HooklineError as error:
            raise CommandError(str(error), FAILED) from None
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise SystemExit(signals.exit_code or INTERRUPTED) from None
        except OSError:
            if signals.exit_code is None:  # otherwise the terminal is gone
                raise
            raise SystemExit(signals.exit_code) from None

    def _ready(self, plugin: str, settings: dict[str, object]) -> Runtime:
        """Create the home and an unopened runtime. Raises ``CommandError``, ``ConfigError``."""
        overrides = {key: value for key, value in settings.items() if value is not None}
        if overrides or self._stamp != _config_stamp():  # the command has changed it
            self._loaded = load(find_home(), environment(), overrides, uses_project=True)
            self._runtime = None
        self._switch_on(plugin)
        prepare_process(self._loaded.path, self._loaded.secrets)
        untrusted = self._loaded.untrusted if self.warns_of_untrusted else ""
        for warning in filter(None, (*self._loaded.warnings, untrusted)):
            err(f"hookline: warning: {warning}")
        try:
            log = self._loaded.config.log
            log_to_home(log.level, log.plugins)
        except OSError as error:
            reason = error.strerror or error
            raise CommandError(
                f"the home {find_home()} cannot be used: {reason}. Choose another with --home."
            ) from None
        return self._prepared()

    def _prepared(self) -> Runtime:
        """The runtime, created but not opened."""
        if self._runtime is None:
            from hookline.runtime import Runtime

            self._runtime = Runtime(self._loaded, find_home())
        return self._runtime

    def _plugin_name(self) -> str:
        if self.running is None or not self.running.plugin:
            raise CommandError("this command does not belong to a plugin, so it has none to open")
        return self.running.plugin

    def _switch_on(self, plugin: str) -> None:
        """Switch on a plugin for this process if config.yaml does not mention it."""
        if plugin and plugin not in self._loaded.plugins:
            self._loaded.plugins[plugin] = PluginEntry(plugin)

    def _register_more(self, catalog: Catalog) -> None:
        """Call ``register_cli`` of the plugins that config names."""
        names = [
            name
            for name, entry in self._loaded.plugins.items()
            if entry.enabled and not entry.standard
        ]
        if not names:
            return
        runtime = self._prepared()
        runtime.plugins.load(names)
        register_commands(catalog, runtime, self)


def _config_stamp() -> list[tuple[int, int] | None]:
    """The modification times and sizes of the files that config depends on; None if missing."""
    stamps: list[tuple[int, int] | None] = []
    for name in ("config.yaml", ".env", TRUSTED_FOLDERS):
        try:
            found = (find_home() / name).stat()
            stamps.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamps.append(None)
    return stamps


async def _in_runtime(
    runtime: Runtime, work: Callable[[Runtime], Coroutine[Any, Any, T]], signals: EndingSignals
) -> T:
    with signals.cancel_task():
        return await _work_in(runtime, work)


async def _work_in(runtime: Runtime, work: Callable[[Runtime], Coroutine[Any, Any, T]]) -> T:
    async with runtime:
        gc.freeze()  # objects made at startup stay alive, so the collector can skip them
        gc.set_threshold(COLLECT_AFTER)
        gc.enable()
        return await asyncio.ensure_future(work(runtime))  # in a task that no plugin can cancel


def _usable(name: str, status: PluginStatus | None) -> PluginStatus:
    """The status of a plugin. Raises ``CommandError`` if it is not on."""
    if status is None or status.plugin is None:
        reason = (
            status.reason if status is not None and status.reason else "config.yaml switches it off"
        )
        raise CommandError(f"plugin {name} is not on: {reason}", FAILED)
    return status
