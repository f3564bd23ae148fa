"""A plugin's host: its services, each with what must be undone when the plugin goes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from hookline_hookspecs import Refused, Session, Step, Storage, Tool, Turn
from hookline_hookspecs.events import Deny, Excerpt, Lesson, ModelRequest
from hookline_hookspecs.host import Channel, Context, Http, Paths
from hookline_hookspecs.messages import Message

from .. import clock
from ..bus.deadline import plugin_task
from ..bus.watchdog import Work
from ..sessions.context import PluginContext, TurnContext, current
from ..turn.model_call import call_model

if TYPE_CHECKING:
    from ..runtime import Runtime

T = TypeVar("T")


class PluginSignals:
    """Signals for one plugin; what it connected is disconnected with it."""

    def __init__(self, runtime: Runtime, plugin: str) -> None:
        self._hub = runtime.bus.signals
        self._plugin = plugin
        self._connected: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = []

    def connect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Subscribe to ``name``; ``receiver(event, ctx=…)``."""

        def heard(event: object, ctx: TurnContext | None = None) -> Any:
            return receiver(event, ctx=ctx.of(self._plugin) if ctx is not None else None)

        heard.plugin = self._plugin  # type: ignore[attr-defined]
        self._hub.connect(name, heard)
        self._connected.append((name, receiver, heard))

    def disconnect(self, name: str, receiver: Callable[..., Any]) -> None:
        """Unsubscribe."""
        for connected in [c for c in self._connected if c[:2] == (name, receiver)]:
            self._hub.disconnect(name, connected[2])
            self._connected.remove(connected)

    def send(self, name: str, event: object) -> None:
        """Tell others."""
        self._hub.send(name, event, current.get())

    def undo(self) -> None:
        """Disconnect everything."""
        for name, _receiver, heard in self._connected:
            self._hub.disconnect(name, heard)
        self._connected.clear()


class PluginServices:
    """What plugins offer each other, by protocol."""

    def __init__(self, offered: dict[type, Any]) -> None:
        self._offered = offered
        self._own: list[type] = []

    def provide(self, protocol: type[T], service: T) -> None:
        """Offer ``service``; a second offer of one protocol is refused."""
        if protocol in self._offered:
            raise ValueError(f"another plugin offers {protocol.__name__} already")
        self._offered[protocol] = service
        self._own.append(protocol)

    def __getitem__(self, protocol: type[T]) -> T:
        found = self.get(protocol)
        if found is None:
            raise KeyError(f"no plugin that is on offers {protocol.__name__}")
        return found

    def get(self, protocol: type[T]) -> T | None:
        """The service, or None."""
        found: T | None = self._offered.get(protocol)
        return found

    def undo(self) -> None:
        """Take everything back."""
        for protocol in self._own:
            self._offered.pop(protocol, None)
        self._own.clear()


class PluginHost:
    """Core as one plugin sees it (protocol ``Host``)."""

    def __init__(self, runtime: Runtime, plugin: str, package: str | None) -> None:
        self._runtime = runtime
        self.plugin = plugin
        self.home = runtime.home
        self.config = runtime.config
        self._package = package
        self.signals = PluginSignals(runtime, plugin)
        self.services = PluginServices(runtime.services)
        self.log = logging.getLogger(f"hookline.plugin.{plugin}")
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watchers: list[Callable[[TurnContext | None, Step], None]] = []
        self.env, self.provider = runtime.loaded.env, runtime.providers.settings
        self.receive, self.answer = runtime.intake.receive, runtime.intake.answer
        self.take_up, self.finish = runtime.intake.take_up, runtime.finish_background
        self.fork = runtime.intake.run_fork
        self.set_title, self.messages = runtime.sessions.set_title, runtime.sessions.stored_messages

    @cached_property
    def storage(self) -> Storage:
        """The plugin's own storage."""
        found: Storage = self._runtime.storage(self.plugin, self._package)
        return found

    @property
    def paths(self) -> Paths:
        """Guarded files of the process's own workspace."""
        return self._runtime.paths

    @property
    def http(self) -> Http:
        """The guarded client."""
        found: Http = self._runtime.http
        return found

    def now(self) -> float:
        """Unix time in seconds, shifted in tests."""
        return clock.now()

    async def ask_model(
        self,
        prompt: str,
        *,
        system: str | None = None,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        ctx: Context | None = None,
        session_id: str | None = None,
    ) -> str:
        """Ask the auxiliary model once; the session of ``ctx`` or ``session_id`` is charged."""
        runtime = self._runtime
        base = await self._base_of(ctx, session_id)
        params: dict[str, Any] = {"stream": False}
        if schema is not None:
            params["schema"] = schema
        if max_tokens is not None:
            params["max_tokens"] = max_tokens
        model = runtime.config.auxiliary_model or base.state.model or runtime.default_model()
        request = ModelRequest(
            model=model,
            system=system or "",
            tools=(),
            messages=(Message.user(prompt),),
            params=params,
            session_id=base.state.record.id,
            purpose="auxiliary",
        )
        response = await call_model(base, request)
        turn_id = base.running.id if base.running else ""
        await runtime.journal.spend(base.state.record.id, turn_id, "auxiliary", response)
        return response.text

    async def _base_of(self, ctx: Context | None, session_id: str | None) -> TurnContext:
        """The context to work in: the given one, the session's, the turn's, or that of none."""
        if isinstance(ctx, PluginContext):
            return ctx._base
        if session_id is None:
            return current.get() or self._runtime.idle_context()
        if await self._runtime.journal.session(session_id) is None:
            raise LookupError(f"there is no session {session_id}")
        return TurnContext(self._runtime, await self._runtime.sessions.peek(session_id))

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run background work until it ends or the plugin goes; a failure is logged."""
        name = f"{self.plugin}:{name}"
        work = Work(self.plugin, f"background work {name}")
        task = plugin_task(coro, self._runtime.bus.watchdog, work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """A task that the plugin started by itself ends with the plugin too."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.warning("background work %s failed: %s", task.get_name(), error)

    async def read(
        self,
        text: str,
        source: str,
        kind: str = "file",
        *,
        ctx: Context | None = None,
        session_id: str | None = None,
    ) -> str:
        """``text`` after the gate ``pre_read``. Raises ``Refused``."""
        base = await self._base_of(ctx, session_id)
        return await self._gate("pre_read", base, Excerpt(kind, source, text))

    async def learn(
        self,
        text: str,
        source: str,
        kind: str,
        *,
        ctx: Context | None = None,
        session_id: str | None = None,
    ) -> str:
        """``text`` after the gate ``pre_learn``. Raises ``Refused``."""
        base = await self._base_of(ctx, session_id)
        return await self._gate("pre_learn", base, Lesson(kind, source, text))

    async def _gate(self, hook: str, base: TurnContext, event: Excerpt | Lesson) -> str:
        passed = await self._runtime.bus.gate(hook, base, event)
        if isinstance(passed, Deny):
            raise Refused(passed.reason)
        return passed.text

    def channels(self) -> list[Channel]:
        """Every channel that the plugins have registered."""
        return list(self._runtime.channels)

    async def run_turn(
        self,
        prompt: str,
        *,
        parent: Context | None = None,
        session_id: str | None = None,
        tools: Sequence[str] | None = None,
        system: str | None = None,
        kind: str = "agent",
    ) -> Turn:
        """Run a turn of a session of its own, through the same path as every turn."""
        base = parent._base if isinstance(parent, PluginContext) else None
        return await self._runtime.intake.run_nested(
            prompt, parent=base, session_id=session_id, tools=tools, system=system, kind=kind
        )

    async def sessions(self, **filters: Any) -> list[Session]:
        """Stored sessions, newest first."""
        found = await self._runtime.journal.sessions(**filters)
        return list(map(self._runtime.sessions.record, found))

    def registered(self, kind: type[T]) -> list[tuple[str, T]]:
        """What plugins have registered of a kind."""
        return self._runtime.bus.registered(kind)

    def tools(self) -> Iterable[Tool]:
        """Every tool that is registered now."""
        return list(self._runtime.tools.values())

    def window(self, model: str | None = None) -> int:
        """The window of ``provider/model``, or of the turn's own model, in tokens."""
        ctx = current.get()
        return self._runtime.providers.window(model or (ctx.model if ctx is not None else ""))

    def watch(self, observer: Callable[[Context | None, Step], None]) -> None:
        """Show every step of every turn to ``observer``."""

        def seen(ctx: TurnContext | None, step: Step) -> None:
            observer(ctx.of(self.plugin) if ctx is not None else None, step)

        self._watchers.append(seen)
        self._runtime.bus.observers.append(seen)

    async def undo(self) -> None:
        """Cancel the plugin's tasks and take back its signals, services and watchers."""
        self.signals.undo()
        self.services.undo()
        for seen in self._watchers:
            self._runtime.bus.observers.remove(seen)
        self._watchers.clear()
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
