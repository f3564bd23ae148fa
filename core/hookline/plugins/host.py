"""A plugin's host: core as the plugin sees it. Everything it adds is undone when it stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from hookline_hookspecs import Session, Step, Storage, Tool, Turn
from hookline_hookspecs.channels import Channel
from hookline_hookspecs.host import Context
from hookline_hookspecs.network import Http
from hookline_hookspecs.paths import Paths
from hookline_hookspecs.services import ServiceType

from .. import clock
from ..bus.signals import SignalHub
from ..dispatch.dispatcher import Dispatcher
from ..dispatch.outbox import Channels
from ..dispatch.plugin_turns import PluginTurns
from ..engine import Engine
from ..sessions.context import PluginContext, TurnContext, current, detached_context
from ..sessions.manager import Sessions
from ..tasks import PLUGIN_TASK_GRACE, BackgroundTasks, plugin_task

T = TypeVar("T")


@dataclass
class PluginSignals:
    """The signals for one plugin; ``cleanup`` disconnects its receivers."""

    _hub: SignalHub
    _plugin: str
    _cleanup: ExitStack
    _connected: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = field(
        default_factory=list
    )

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe to ``name``; ``receiver(event, ctx=…)``."""

        def forward(event: object, ctx: TurnContext | None = None) -> Any:
            return receiver(event, ctx=ctx.of(self._plugin) if ctx is not None else None)

        forward.plugin = self._plugin  # type: ignore[attr-defined]
        self._hub.connect(name, forward)
        self._connected.append((name, receiver, forward))
        self._cleanup.callback(self._hub.disconnect, name, forward)

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe."""
        for connected in [c for c in self._connected if c[:2] == (name, receiver)]:
            self._hub.disconnect(name, connected[2])
            self._connected.remove(connected)

    def send(self, name: str, event: object) -> None:
        """Send an event to every receiver."""
        self._hub.send(name, event, current.get())


@dataclass
class PluginServices:
    """Services of plugins by protocol; ``cleanup`` withdraws those of this plugin."""

    _offered: dict[Any, Any]
    _defaults: dict[Any, Any]
    _all: dict[object, list[Any]]
    _cleanup: ExitStack

    def provide(self, protocol: ServiceType[T], service: T) -> None:
        """Offer the one service of a protocol. Raises ``ValueError`` if there is one already."""
        if protocol in self._offered:
            raise ValueError(f"another plugin provides {_name(protocol)} already")
        self._offered[protocol] = service
        self._cleanup.callback(self._offered.pop, protocol, None)

    def __getitem__(self, protocol: ServiceType[T]) -> T:
        found = self.get(protocol)
        if found is None:
            raise KeyError(f"no plugin that is on provides {_name(protocol)}")
        return found

    def get(self, protocol: ServiceType[T]) -> T | None:
        """The service, or None."""
        return cast("T | None", self._offered.get(protocol) or self._defaults.get(protocol))

    def add(self, protocol: ServiceType[T], service: T) -> None:
        """Offer ``service`` beside those of other plugins."""
        offers = self._all.setdefault(protocol, [])
        offers.append(service)
        self._cleanup.callback(offers.remove, service)

    def all(self, protocol: ServiceType[T]) -> list[T]:
        """Every service that was added."""
        return list(self._all.get(protocol, ()))


def _name(protocol: object) -> str:
    return getattr(protocol, "__name__", str(protocol))


class PluginHost:
    """Core as one plugin sees it (protocol ``Host``)."""

    def __init__(
        self,
        engine: Engine,
        sessions: Sessions,
        channels: Channels,
        dispatcher: Dispatcher,
        turns: PluginTurns,
        plugin: str,
        package: str,
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._channels = channels
        self._turns = turns
        self._package = package
        self._cleanup = ExitStack()
        self._tasks = BackgroundTasks()
        self.plugin = plugin
        self.home = engine.home
        self.config = engine.config
        self.env = engine.loaded.env
        self.log = logging.getLogger(f"hookline.plugin.{plugin}")
        self.signals = PluginSignals(engine.bus.signals, plugin, self._cleanup)
        self.services = PluginServices(
            engine.services, engine.default_services, engine.added_services, self._cleanup
        )
        # These have the signatures of the protocol ``Host`` already.
        self.provider = engine.providers.settings
        self.receive = dispatcher.receive
        self.registered = engine.bus.registered
        self.fork = turns.run_fork
        self.set_title = sessions.set_title
        self.messages = sessions.stored_messages

    @cached_property
    def storage(self) -> Storage:
        """The plugin's own storage."""
        return self._engine.storage(self.plugin, self._package)

    @property
    def paths(self) -> Paths:
        """Guarded files of the process's own workspace."""
        return self._engine.paths

    @property
    def http(self) -> Http:
        """The guarded client."""
        return self._engine.http

    def now(self) -> float:
        """Unix time in seconds, shifted in tests."""
        return clock.now()

    async def ask_model(self, prompt: str, **options: Any) -> str:
        """Ask the auxiliary model once; the session of ``ctx`` or ``session_id`` is charged."""
        base = await self._resolve_context(
            options.pop("ctx", None), options.pop("session_id", None)
        )
        return await self._engine.ask_model(base, prompt, **options)

    async def read(
        self, text: str, source: str, kind: str = "file", *, ctx: Any = None, session_id: Any = None
    ) -> str:
        """``text`` after the gate ``pre_read``. Raises ``Refused``."""
        base = await self._resolve_context(ctx, session_id)
        return await base.of(self.plugin).read(text, source, kind)

    async def learn(
        self,
        text: str,
        source: str,
        kind: str,
        *,
        ctx: Any = None,
        session_id: Any = None,
        origins: Any = None,
    ) -> str:
        """``text`` after the gate ``pre_learn``. Raises ``Refused``."""
        base = await self._resolve_context(ctx, session_id)
        return await base.of(self.plugin).learn(text, source, kind, origins=origins)

    async def _resolve_context(self, ctx: Context | None, session_id: str | None) -> TurnContext:
        """The given context, or the session's, or the running task's, or a detached one."""
        if isinstance(ctx, PluginContext):
            return ctx.base
        if session_id is None:
            return current.get() or detached_context(self._engine)
        state = await self._sessions.load_readonly(session_id)
        if state is None:
            raise LookupError(f"unknown session {session_id}")
        return TurnContext(self._engine, state)

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run background work until it ends or the plugin stops; a failure is logged."""
        task = self._tasks.keep(plugin_task(coro, f"{self.plugin}:{name}"))
        task.add_done_callback(self._log_failure)
        return task

    def _log_failure(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.warning("background work %s failed: %s", task.get_name(), error)

    def channels(self) -> list[Channel]:
        """Every channel that the plugins have registered."""
        return list(self._channels)

    async def run_turn(
        self, prompt: str, *, parent: Context | None = None, kind: str = "agent", **options: Any
    ) -> Turn:
        """Run a turn of a session of its own, through the same path as every turn."""
        base = parent.base if isinstance(parent, PluginContext) else None
        return await self._turns.run_nested(prompt, base, kind, **options)

    async def sessions(self, **filters: Any) -> list[Session]:
        """Stored sessions, newest first."""
        return [
            self._sessions.record(row) for row in await self._engine.journal.sessions(**filters)
        ]

    def tools(self) -> Iterable[Tool]:
        """Every tool that is registered now."""
        return list(self._engine.tools.values())

    def window(self, model: str | None = None) -> int:
        """The window of ``provider/model``, or of the turn's own model, in tokens."""
        ctx = current.get()
        return self._engine.providers.window(model or (ctx.model if ctx is not None else ""))

    def watch(self, observer: Callable[[Context | None, Step], None]) -> None:
        """Show every step of every turn to ``observer``."""

        def forward(ctx: TurnContext | None, step: Step) -> None:
            view: Any = ctx.of(self.plugin) if ctx is not None else None
            observer(view, step)

        observers = self._engine.bus.observers
        observers.append(forward)
        self._cleanup.callback(observers.remove, forward)

    async def undo(self) -> None:
        """Cancel the plugin's tasks and take back its signals, services and watchers."""
        self._cleanup.close()
        await self._tasks.cancel(PLUGIN_TASK_GRACE)
