"""What the parts of a running process share: bus, store, providers, tools and services."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from hookline_hookspecs.drivers import ModelWindows, Provider, ProviderSettings, Store
from hookline_hookspecs.errors import BadRequest, StoreError
from hookline_hookspecs.gateway import WorkDistribution
from hookline_hookspecs.host import Host
from hookline_hookspecs.network import Http
from hookline_hookspecs.own_programs import add_writable_folder
from hookline_hookspecs.paths import Paths
from hookline_hookspecs.questions import Question, QuestionAnswer
from hookline_hookspecs.secrets import ProcessFilter
from hookline_hookspecs.tools import Tool

from .bus.bus import Bus
from .bus.implementation import PluginRefused
from .config import (
    Config,
    ConfigError,
    Loaded,
    choose_model,
    find_driver,
    provider_settings,
    split_model,
)
from .config.choose import no_driver
from .log import filter_log_records
from .store.journal import Journal
from .store.plugin_storage import PluginStorage
from .tasks import BackgroundTasks
from .text import new_id

WINDOW = 128_000
"""Context window in tokens that is assumed for an unknown model."""


class Providers:
    """Model providers by name. Each is imported and created when it is first used."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._made: dict[str, Provider] = {}
        self._replaced: list[Provider] = []
        """Providers of earlier settings, which running calls may still use."""

    def use(self, loaded: Loaded) -> None:
        """Use the default model and the providers of a newer config from the next call on."""
        self._loaded = loaded
        self._replaced += self._made.values()
        self._made = {}

    def default_model(self) -> str:
        """The ``provider/model`` that config or environment choose. Raises ``NoModel``."""
        return "/".join(choose_model(self._loaded))

    def get(self, model: str) -> Provider:
        """The provider of ``provider/model``. Raises ``BadRequest`` if it cannot be created."""
        try:
            self.check(model)
        except ConfigError as error:
            raise BadRequest(str(error)) from error
        return self._made[split_model(model).provider]

    def window(self, model: str) -> int:
        """The context window of ``provider/model`` in tokens.

        The configured one, else the one that the provider has learnt from its server, else the
        preset's, else :data:`WINDOW`.
        """
        try:
            name, model_name = split_model(model or self.default_model())
        except ConfigError:
            return WINDOW
        section = self._loaded.config.providers.get(name)
        configured = section.window if section is not None else None
        if isinstance(configured, dict):
            configured = configured.get(model_name)
        if configured or (configured := self._learnt_window(name, model_name)):
            return configured
        models = preset.models if (preset := self._loaded.presets.get(name)) is not None else ()
        return next((it.window for it in models if it.name == model_name), None) or WINDOW

    def _learnt_window(self, name: str, model_name: str) -> int | None:
        """What the provider has learnt; None if it learns nothing or cannot be created."""
        try:
            self.check(f"{name}/{model_name}")
        except ConfigError:
            return None
        provider = self._made[name]
        if not isinstance(provider, ModelWindows):
            return None
        return provider.window(f"{name}/{model_name}")

    def add(self, name: str, provider: Provider) -> None:
        """Add a provider that was not created by a driver."""
        self._made[name] = provider

    def created(self) -> dict[str, Provider]:
        """The providers in use, by name."""
        return dict(self._made)

    def check(self, model: str) -> None:
        """Create the provider of ``model`` now. Raises ``ConfigError`` if that fails."""
        name = split_model(model).provider
        if name not in self._made:
            self._made[name] = self._make(name)

    def settings(self, name: str) -> ProviderSettings:
        """The settings of a provider. Raises ``ConfigError`` if its section has an error."""
        return provider_settings(self._loaded, name)[1]

    def _make(self, name: str) -> Provider:
        driver_name, settings = provider_settings(self._loaded, name)
        driver = find_driver("hookline.providers", driver_name)
        if driver is None:
            raise ConfigError(no_driver(self._loaded, driver_name))
        provider: Provider = driver(settings)
        return provider

    async def aclose(self) -> None:
        """Close every provider's connections."""
        for provider in (*self._made.values(), *self._replaced):
            await provider.aclose()
        self._made.clear()
        self._replaced.clear()


class ToolRegistry(dict[str, Tool]):
    """Every tool that can be called, by name, in the order of registration."""

    def register(self, tool: Tool, plugin: str) -> None:
        """Add a plugin's tool. Raises ``PluginRefused`` if another plugin has one of that name."""
        other = self.get(tool.name)
        if other is not None and not (other.deferred and tool.deferred and other.plugin == plugin):
            raise PluginRefused(
                f"its tool {tool.name} is already provided by plugin {other.plugin}; "
                "switch one of them off"
            )
        tool.plugin = plugin
        self[tool.name] = tool

    def unregister(self, plugin: str) -> None:
        """Remove a plugin's tools. Sessions still offer them; a call then returns an error."""
        for name in [name for name, tool in self.items() if tool.plugin == plugin]:
            del self[name]

    def is_read_only(self, name: str) -> bool:
        """True for a known tool that changes nothing."""
        tool = self.get(name)
        return tool is not None and tool.read_only


class Node:
    """This process, as one of those that share a store.

    Rows of the inbox, the outbox and unfinished turns name the node that works on them. Each node
    holds its own lock in the store while it is alive, so that others can distinguish a dead node,
    whose rows they may claim, from a slow one.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self.id = new_id()
        self._store = store
        self._held = AsyncExitStack()
        self._joining, self._joined = asyncio.Lock(), False

    async def join(self) -> None:
        """Acquire the node's lock, once. Call it before storing a row that names this node."""
        async with self._joining:
            if not self._joined:
                await self._held.enter_async_context(self._store().own(f"node:{self.id}", 0.0))
                self._joined = True

    async def leave(self) -> None:
        """Release the lock. Other nodes may then claim this node's unfinished rows."""
        await self._held.aclose()

    async def may_claim(self, owner: str | None) -> bool:
        """True for a row without an owner, or one owned by this node or by a dead one."""
        if owner is None or owner == self.id:
            return True
        try:
            async with self._store().own(f"node:{owner}", -1.0):
                return True
        except StoreError:
            return False


AskModel = Callable[..., Awaitable[str]]
AskPerson = Callable[[Any, Question], Awaitable[QuestionAnswer | None]]


class Engine:
    """The shared parts of a process. Other packages of core receive this instead of each other.

    The arguments are those of :class:`~hookline.runtime.Runtime`.
    """

    chat: Callable[[], str]
    """Returns the chat that the running task works for; empty if none."""
    ask: AskPerson
    """``(ctx, question)``: the person's answer, or None; see ``questions.ask``."""
    ask_model: AskModel
    """``(ctx, prompt, *, system, schema, max_tokens)``: see ``turn.model_call.ask_auxiliary``."""

    def __init__(
        self,
        loaded: Loaded,
        home: Path,
        *,
        store: Store | None,
        strict: bool | None,
        bus: Bus | None,
    ) -> None:
        self.loaded = loaded
        self.home = home
        self.last_migrations: dict[str, int] = {}
        """For tests: the last migration to apply, by plugin; all of them by default."""
        self.strict = os.environ.get("HOOKLINE_STRICT") == "1" if strict is None else strict
        self.config: Config = loaded.config
        self.bus = bus or Bus(strict=self.strict)
        self._secrets = ProcessFilter()
        filter_log_records()
        self.hide_secrets(loaded.secrets)
        self.providers = Providers(loaded)
        self.tools = ToolRegistry()
        self.services: dict[Any, Any] = {}
        self.default_services: dict[Any, Any] = {}
        """Core's own implementations of services, used unless a plugin provides another."""
        self.added_services: dict[object, list[Any]] = {}
        self.hosts: dict[str, Host] = {}
        self.background = BackgroundTasks()
        self.node = Node(lambda: self.store)
        self.closing = False
        self._given_store = store

    def use_models(self, loaded: Loaded) -> None:
        """Use the default model and the providers of a newer config from the next call on."""
        self.hide_secrets(loaded.secrets)
        self.providers.use(loaded)

    def hide_secrets(self, *found: Any) -> None:
        """Mask the secrets in texts and settings, in logs and wherever ``redacted`` is used."""
        self._secrets.hide(*found)

    @cached_property
    def store(self) -> Store:
        """The database that ``store:`` names, created on first use."""
        return self._given_store or make_store(self.config.store, self.home)

    @cached_property
    def journal(self) -> Journal:
        """The stored sessions and turns."""
        return Journal(self.store, self.node.id, self.sends)

    @property
    def work(self) -> WorkDistribution:
        """How this process shares work with others."""
        work: WorkDistribution = (
            self.services.get(WorkDistribution) or self.default_services[WorkDistribution]
        )
        return work

    def sends(self, channel: str) -> bool:
        """True if this process sends the channel's replies."""
        return self.work.sends(channel)

    @cached_property
    def http(self) -> Http:
        """The guarded HTTP client."""
        from .io.http import GuardedHttp, NetworkPolicy

        network = self.config.network
        policy = NetworkPolicy(network.block_private, network.allow_hosts, network.block_hosts)
        client: Any = GuardedHttp(policy, chat=self.chat)
        return client  # type: ignore[no-any-return]

    @cached_property
    def paths(self) -> Paths:
        """Guarded file access to the workspace in config."""
        return self.guard_paths(Path(self.config.workspace))

    def guard_paths(self, workspace: Path) -> Paths:
        """Guarded file access to a workspace."""
        from .io.paths import PathGuard

        edits = self.config.paths.edit_own_code
        guard = PathGuard(workspace, self._allowed_roots(), self.home, edits_own_code=edits)
        for root in guard.roots:
            add_writable_folder(root)
        return guard

    def _allowed_roots(self) -> list[Path]:
        return [Path(root) for root in self.config.paths.allowed_roots]

    def storage(self, plugin: str, package: str | None) -> PluginStorage:
        """A plugin's storage; ``package`` is the Python package with its SQL files."""
        last = self.last_migrations.get(plugin)
        return PluginStorage(self.store, plugin, package, self.home, last_migration=last)

    async def aclose(self) -> None:
        """Close the connections of the providers and the guarded HTTP client."""
        await self.providers.aclose()
        http: Any = self.__dict__.get("http")
        if http is not None:
            await http.aclose()
        await self.bus.signals.aclose()


def make_store(url: str, home: Path) -> Any:
    """Create the store that ``store:`` names: ``sqlite`` or the scheme of a URL.

    Raises:
        ConfigError: its driver is not installed.
    """
    name = url.split(":", 1)[0]
    driver = find_driver("hookline.stores", name)
    if driver is None:
        raise ConfigError(
            f"The store {name!r} is not installed. Install the package "
            f"hookline-{name.removesuffix('ql')}, or choose another with `store:` in config.yaml."
        )
    return driver(url, home)
