"""Plugins: found and imported by stevedore, checked, made, registered and set up one by one.

Whatever goes wrong with one of them is its own state; the app runs.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import API, HOOKS, Command, Plugin, Tool
from hookline_hookspecs.parts import COMMAND_MARK
from hookline_hookspecs.tools import TOOL_MARK

from ..bus.implementation import PluginRefused, describe, is_fault, words
from ..config import Loaded, PluginEntry, SettingsError, validate_settings
from ..plugins.host import PluginHost

if TYPE_CHECKING:
    from ..runtime import Runtime

log = logging.getLogger("hookline.plugins")
GROUP = "hookline.plugins"
SLOW_IMPORT = 2.0
"""Seconds after which an import is reported."""


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
    is_set_up: bool = False
    warnings: list[str] = field(default_factory=list)


class Plugins:
    """Every plugin that config names, in call order."""

    def __init__(self, runtime: Runtime, loaded: Loaded, classes: Mapping[str, Any]) -> None:
        self._runtime = runtime
        self._config = loaded
        self._classes = classes
        self.loadings: dict[str, Loading] = {}
        self.gone: set[str] = set()
        """Plugins switched off since the start; their tools answer that they are gone."""

    def load(self, leave: Collection[str] = ()) -> None:
        """Import, check, make and register what is switched on; not what stands in ``leave``."""
        for rank, entry in enumerate(self._config.plugins.values()):
            loading = self.loadings[entry.name] = Loading(entry)
            if entry.error:
                loading.state, loading.reason = "failed", entry.error
            elif entry.name in leave and entry.standard and entry.enabled:
                loading.state = "on"
            elif entry.enabled:
                self._load_one(loading, rank)
        for loading, reason in self._lacking():
            self._fail(loading, reason, None)

    def _load_one(self, loading: Loading, rank: int) -> None:
        name = loading.entry.name
        try:
            found = self._classes.get(name) or find_class(name)
            if found is None:
                if loading.entry.named:
                    loading.state = "missing"
                    loading.reason = f"not installed; pip install hookline-{name}"
                return
            loading.plugin = self._make(loading, found)
            self._runtime.bus.register(name, loading.plugin, rank)
            self._register_parts(loading)
            loading.state = "on"
        except BaseException as error:
            if not is_fault(error):
                raise
            known = isinstance(error, (PluginRefused, SettingsError))
            self._fail(loading, words(error) if known else describe(error), error)

    def _make(self, loading: Loading, found: type[Plugin[Any]]) -> Plugin[Any]:
        name = loading.entry.name
        if not (inspect.isclass(found) and issubclass(found, Plugin)):
            raise PluginRefused(f"its entry point {found!r} is no subclass of Plugin")
        _check_declared(found)
        if found.requires_api > API:
            wanted, have = (".".join(map(str, v)) for v in (found.requires_api, API))
            told = f"it needs plugin API {wanted} and this Hookline has {have}"
            raise PluginRefused(f"{told}; update hookline")
        config, loading.warnings = validate_settings(
            found.config_class, loading.entry, self._config.path, self._config.lines
        )
        loading.host = PluginHost(self._runtime, name, found.__module__.split(".")[0])
        return found(config, loading.host)

    def _register_parts(self, loading: Loading) -> None:
        """Tools and commands from decorators, then from the ``register_*`` hooks."""
        name, plugin = loading.entry.name, loading.plugin
        for attribute, function in inspect.getmembers(type(plugin), inspect.isfunction):
            method = getattr(plugin, attribute)
            if hasattr(function, TOOL_MARK):
                self._add_tool(loading, Tool.from_function(method, **getattr(function, TOOL_MARK)))
            if hasattr(function, COMMAND_MARK):
                command, options = getattr(function, COMMAND_MARK)
                _check_command(command, method)
                doc = (inspect.getdoc(function) or "").split("\n")[0]
                self._add_command(loading, Command(command, doc, method, **options))
        adders: dict[str, Callable[[Any], None]] = {
            "register_tools": lambda tool: self._add_tool(loading, tool),
            "register_commands": lambda command: self._add_command(loading, command),
        }
        for hook, adder in adders.items():
            for impl in self._runtime.bus.implementations(hook):
                if impl.plugin == name:
                    self._runtime.bus.gather_one(impl, adder)

    def _add_tool(self, loading: Loading, tool: Tool) -> None:
        other = self._runtime.tools.get(tool.name)
        if other is not None:
            told = f"its tool {tool.name} has the name of one of plugin {other.plugin}"
            raise PluginRefused(f"{told}; switch one of them off")
        tool.plugin = loading.entry.name
        self._runtime.tools[tool.name] = tool
        loading.tools.append(tool)

    def _add_command(self, loading: Loading, command: Command) -> None:
        for name in (command.name, *command.aliases):
            other = self._runtime.commands.owner(name)
            if other is not None:
                raise PluginRefused(f"its command {name} is {other}'s already")
        self._runtime.commands.add(command, loading.entry.name)
        loading.commands.append(command)

    def _lacking(self) -> Iterator[tuple[Loading, str]]:
        """Plugins that are on and need one that is not, with the reason; until there are none."""
        for loading in [*self.loadings.values(), *self.loadings.values()] * 2:
            if loading.plugin is None or loading.state != "on":
                continue
            names = [n for n in loading.plugin.requires if self.state(n) != "on"]
            if names:
                yield (
                    loading,
                    f"it needs plugin {', '.join(names)}; switch it on in config.yaml "
                    f"(hookline plugins enable {names[0]})",
                )

    def _fail(self, loading: Loading, reason: str, error: BaseException | None) -> None:
        """Undo all of a plugin and keep the reason."""
        name = loading.entry.name
        self._forget(loading)
        loading.state, loading.reason, loading.plugin = "failed", reason, None
        log.warning("plugin %s is not on: %s", name, reason, exc_info=error)
        if self._runtime.strict and error is not None:
            raise error

    def _forget(self, loading: Loading) -> None:
        name = loading.entry.name
        self._runtime.bus.unregister(name)
        for tool in loading.tools:
            self._runtime.tools.pop(tool.name, None)
        self._runtime.commands.remove(name)
        self._runtime.channels.remove(name)
        loading.tools, loading.commands = [], []

    async def setup(self) -> None:
        """Call ``setup`` of each plugin; one that fails is undone completely."""
        bus = self._runtime.bus
        for impl in bus.implementations("setup"):
            loading = self.loadings[impl.plugin]
            try:
                await bus.attempt(impl, None, loading.host)
                await asyncio.sleep(0)  # What it has spawned starts, and can clean up after itself.
            except BaseException as error:
                if not is_fault(error):
                    raise
                await self._undo(loading)
                reason = describe(error, bus.deadline("setup"))
                self._fail(loading, f"setup: {reason}", error)
        for loading in self.loadings.values():
            loading.is_set_up = loading.state == "on"
        for loading, reason in self._lacking():
            await self.teardown([loading.entry.name])
            self._fail(loading, reason, None)
        self._runtime.channels.gather(bus)

    async def teardown(self, only: Iterable[str] | None = None) -> None:
        """Call ``teardown`` where ``setup`` succeeded, then undo what the plugins left."""
        bus = self._runtime.bus
        names = set(self.loadings if only is None else only)
        for impl in bus.implementations("teardown"):
            loading = self.loadings[impl.plugin]
            if impl.plugin in names and loading.is_set_up:
                try:
                    await bus.attempt(impl, None, loading.host)
                except BaseException as error:
                    if not is_fault(error):
                        raise
                    reason = describe(error, bus.deadline("teardown"))
                    log.warning("plugin %s failed in teardown: %s", impl.plugin, reason)
        for name in names:
            await self._undo(self.loadings[name])

    @staticmethod
    async def _undo(loading: Loading) -> None:
        loading.is_set_up = False
        if loading.host is not None:
            await loading.host.undo()

    async def switch_off(self, name: str) -> None:
        """Stop a plugin now; sessions under way keep its tools as names that answer so."""
        loading = self.loadings[name]
        if loading.state != "on":
            return
        self.gone.add(name)
        await self.teardown([name])
        self._forget(loading)
        loading.state, loading.reason = "off", "switched off while running"

    def state(self, name: str) -> str:
        """``on off missing failed``, or ``off`` for a name config does not hold."""
        return self.loadings[name].state if name in self.loadings else "off"

    def host(self, name: str) -> PluginHost | None:
        """The plugin's host, if it was made."""
        return self.loadings[name].host if name in self.loadings else None

    def withholds_deltas(self) -> bool:
        """True if a plugin may take words of the reply back."""
        for impl in self._runtime.bus.implementations("pre_reply"):
            plugin = self.loadings[impl.plugin].plugin if impl.plugin in self.loadings else None
            if plugin is None or not plugin.adds_to_reply_only:
                return True
        return False


def find_class(name: str) -> Any:
    """Import the class behind the entry point ``name``; None if no dist has it.

    Raises:
        PluginRefused: two dists have it.
    """
    from stevedore import NamedExtensionManager

    values = installed().get(name, set())
    if not values:
        return None
    if len(values) > 1:
        raise PluginRefused(_conflict(name))
    errors: list[BaseException] = []
    start = perf_counter()
    manager: NamedExtensionManager[Any] = NamedExtensionManager(
        GROUP,
        [name],
        on_load_failure_callback=lambda _manager, _ep, error: errors.append(error),
        on_missing_entrypoints_callback=lambda _names: None,
    )
    if errors:
        raise errors[0]
    if perf_counter() - start > SLOW_IMPORT:
        log.warning("plugin %s took %.1f s to import", name, perf_counter() - start)
    found = manager.extensions
    return found[0].plugin if found else None


@cache
def installed() -> dict[str, set[str]]:
    """What each installed entry point stands for, by name; nothing is imported."""
    from stevedore import NamedExtensionManager

    manager: NamedExtensionManager[Any] = NamedExtensionManager(GROUP, [])
    found: dict[str, set[str]] = {}
    for entry_point in manager.list_entry_points():
        found.setdefault(entry_point.name, set()).add(entry_point.value)
    return found


def _check_command(name: str, method: Callable[..., Any]) -> None:
    try:
        inspect.signature(method).bind(None, "")
    except TypeError:
        raise PluginRefused(f"command {name}: its method must take (self, ctx, args)") from None


def _check_declared(found: type[Plugin[Any]]) -> None:
    """Refuse a class whose own statements are not what they must be."""
    version, needs = found.requires_api, found.requires
    if not (isinstance(version, tuple) and [type(part) for part in version] == [int, int]):
        raise PluginRefused(f"its requires_api is {version!r}; write two numbers, such as {API}")
    if not (isinstance(needs, (tuple, list)) and all(isinstance(name, str) for name in needs)):
        raise PluginRefused(f"its requires is {needs!r}; write a tuple of names of plugins")
    if not (inspect.isclass(found.config_class) and hasattr(found.config_class, "model_fields")):
        raise PluginRefused(f"its config_class is {found.config_class!r}; write a pydantic model")


def _conflict(name: str) -> str:
    dists = sorted({_dist(ep) for ep in entry_points(group=GROUP, name=name)})
    return f"{' and '.join(dists)} both bring a plugin {name}; uninstall one of them"


def _dist(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist is not None else entry_point.value


def hooks_of(plugin: object) -> list[str]:
    """The hooks that a plugin implements, in the order of the table."""
    return [name for name in HOOKS if hasattr(getattr(type(plugin), name, None), "hookline_impl")]
