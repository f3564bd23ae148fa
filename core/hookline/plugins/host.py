"""A plugin's host: its interface to core. Everything it adds is undone when the plugin stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
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
from ..io.watched_file import WatchedFile
from ..sessions.context import PluginContext, TurnContext, current, detached_context
from ..sessions.manager import Sessions
from ..tasks import PLUGIN_TASK_GRACE, BackgroundTasks, plugin_task

T = TypeVar("T")


@dataclass
class PluginSignals:
    """One plugin's access to signals; ``cleanup`` disconnects its receivers."""

    _hub: SignalHub
    _plugin: str
    _cleanup: ExitStack
    _connected: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = field(
        default_factory=list
    )

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe to a signal; the receiver is called as ``receiver(event, ctx=…)``."""

        def forward(event: object, ctx: TurnContext | None = None) -> Any:
            return receiver(event, ctx=ctx.of(self._plugin) if ctx is not None else None)

        forward.plugin = self._plugin  # type: ignore[attr-defined]
        self._hub.connect(name, forward)
        self._connected.append((name, receiver, forward))
        self._cleanup.callback(self._hub.disconnect, name, forward)

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe a receiver."""
        for connected in [c for c in self._connected if c[:2] == (name, receiver)]:
            self._hub.disconnect(name, connected[2])
            self._connected.remove(connected)

    def send(self, name: str, event: object) -> None:
        """Send an event to every receiver."""
        self._hub.send(name, event, current.get())


@dataclass
class PluginServices:
    """Services by protocol; ``cleanup`` withdraws those of this plugin."""

    _offered: dict[Any, Any]
    _defaults: dict[Any, Any]
    _all: dict[object, list[Any]]
    _cleanup: ExitStack

    def provide(self, protocol: ServiceType[T], service: T) -> None:
        """Provide the only service of a protocol. Raises ``ValueError`` if one exists already."""
        if protocol in self._offered:
            raise ValueError(f"another plugin already provides {_name(protocol)}")
        self._offered[protocol] = service
        self._cleanup.callback(self._offered.pop, protocol, None)

    def __getitem__(self, protocol: ServiceType[T]) -> T:
        found = self.get(protocol)
        if found is None:
            raise KeyError(f"no enabled plugin provides {_name(protocol)}")
        return found

    def get(self, protocol: ServiceType[T]) -> T | None:
        """The service, or None."""
        return cast("T | None", self._offered.get(protocol) or self._defaults.get(protocol))

    def add(self, protocol: ServiceType[T], service: T) -> None:
        """Add ``service`` to those of other plugins."""
        offers = self._all.setdefault(protocol, [])
        offers.append(service)
        self._cleanup.callback(offers.remove, service)

    def all(self, protocol: ServiceType[T]) -> list[T]:
        """Every service that was added."""
        return list(self._all.get(protocol, ()))


def _name(protocol: object) -> str:
    return getattr(protocol, "__name__", str(protocol))


class PluginHost:
    """One plugin's interface to core (protocol ``Host``)."""

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
        # These already have the signatures of the protocol ``Host``.
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
        """Guarded file access to the workspace in config."""
        return self._engine.paths

    @property
    def http(self) -> Http:
        """The guarded HTTP client."""
        return self._engine.http

    def now(self) -> float:
        """Unix time in seconds, shifted in tests."""
        return clock.now()

    async def ask_model(self, prompt: str, **options: Any) -> str:
        """Ask the auxiliary model once and charge the session of ``ctx`` or ``session_id``."""
        base = await self._resolve_context(
            options.pop("ctx", None), options.pop("session_id", None)
        )
        return await self._engine.ask_model(base, prompt, **options)

    async def read(
        self, text: str, source: str, kind: str = "file", *, ctx: Any = None, session_id: Any = None
    ) -> str:
        """Pass ``text`` through the guards of ``pre_read``. Raises ``Refused``."""
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
        """Pass ``text`` through the guards of ``pre_learn``. Raises ``Refused``."""
        base = await self._resolve_context(ctx, session_id)
        return await base.of(self.plugin).learn(text, source, kind, origins=origins)

    async def _resolve_context(self, ctx: Context | None, session_id: str | None) -> TurnContext:
        """The context ``ctx``, the session's, the running task's, or a detached one."""
        if isinstance(ctx, PluginContext):
            return ctx.base
        if session_id is None:
            return current.get() or detached_context(self._engine)
        state = await self._sessions.load_readonly(session_id)
        if state is None:
            raise LookupError(f"unknown session {session_id}")
        return TurnContext(self._engine, state)

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run background work until it ends or the plugin stops. A failure is logged."""
        task = self._tasks.keep(plugin_task(coro, f"{self.plugin}:{name}"))
        task.add_done_callback(self._log_failure)
        return task

    def _log_failure(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.warning("background work %s failed: %s", task.get_name(), error)

    def channels(self) -> list[Channel]:
        """All registered channels."""
        return list(self._channels)

    async def run_turn(
        self, prompt: str, *, parent: Context | None = None, kind: str = "agent", **options: Any
    ) -> Turn:
        """Run a turn in its own session, through the same path as every turn."""
        base = parent.base if isinstance(parent, PluginContext) else None
        return await self._turns.run_nested(prompt, base, kind, **options)

    async def sessions(self, **filters: Any) -> list[Session]:
        """Stored sessions, newest first."""
        return [
            self._sessions.record(row) for row in await self._engine.journal.sessions(**filters)
        ]

    def tools(self) -> Iterable[Tool]:
        """All registered tools."""
        return list(self._engine.tools.values())

    def window(self, model: str | None = None) -> int:
        """The context window of ``provider/model``, or of the turn's model, in tokens."""
        ctx = current.get()
        return self._engine.providers.window(model or (ctx.model if ctx is not None else ""))

    def watch(self, observer: Callable[[Context | None, Step], None]) -> None:
        """Call ``observer`` with every step of every turn."""

        def forward(ctx: TurnContext | None, step: Step) -> None:
            view: Any = ctx.of(self.plugin) if ctx is not None else None
            observer(view, step)

        observers = self._engine.bus.observers
        observers.append(forward)
        self._cleanup.callback(observers.remove, forward)

    def watched(
        self, path: Path, parse: Callable[[str], T], default: T | None = None
    ) -> WatchedFile[T | None]:
        """The parsed content of a file, which is read again when it has changed."""

        def report(problem: str) -> None:
            self.log.warning("%s", problem)
            self._engine.bus.signals.send_failure(self.plugin, "watched", problem)

        return WatchedFile[T | None](path, parse, default, report)

    async def undo(self) -> None:
        """Cancel the plugin's tasks and remove its receivers, services and observers."""
        self._cleanup.close()
        await self._tasks.cancel(PLUGIN_TASK_GRACE)
