"""The runtime: every part of a process, made and wired in one place, opened and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hookline_hookspecs.conversations import Conversations
from hookline_hookspecs.drivers import Store
from hookline_hookspecs.errors import HooklineError
from hookline_hookspecs.events import PluginFailure
from hookline_hookspecs.gateway import GatewayHost
from hookline_hookspecs.inspection import Configuration, Inspection

from .bus.bus import Bus
from .bus.deadline import CoreTask, plugin_task
from .bus.implementation import Implementation
from .bus.watchdog import PluginCode
from .config import Loaded
from .dispatch.commands import Commands
from .dispatch.dispatcher import Dispatcher
from .dispatch.outbox import Channels, Outbox
from .dispatch.recovery import Recovery
from .engine import Engine
from .home import make_home
from .inspection import CoreConfiguration, CoreInspection
from .plugins.config_watch import ConfigWatch
from .plugins.host import PluginHost
from .plugins.loader import Plugins
from .sessions.manager import Sessions
from .store.journal import core_migrations
from .turn.model_call import ask_auxiliary

OWN_CODE = str(Path(__file__).parent)
MOST_FAILURES = 1000
"""Different failures of plugins that one process stores."""


class Runtime:
    """A running Hookline. Use it as an asynchronous context manager.

    Args:
        loaded: the config.
        home: its folder.
        store: the database; made from config if left out.
        strict: raise plugins' errors (``HOOKLINE_STRICT=1``).
        bus: the event bus; a new one if left out.
        classes: plugin classes by name that need no entry point.
    """

    def __init__(
        self,
        loaded: Loaded,
        home: Path,
        *,
        store: Store | None = None,
        strict: bool | None = None,
        bus: Bus | None = None,
        classes: Mapping[str, Any] | None = None,
    ) -> None:
        engine = self.engine = Engine(loaded, home, store=store, strict=strict, bus=bus)
        engine.ask_model = ask_auxiliary
        self.bus = engine.bus
        self.commands = Commands()
        self.channels = Channels()
        self.outbox = Outbox(engine, self.channels)
        self.sessions = Sessions(engine)
        self.dispatcher = Dispatcher(engine, self.sessions, self.commands, self.outbox)
        self.recovery = Recovery(engine, self.sessions, self.dispatcher, self.outbox)
        make_host = partial(PluginHost, engine, self.sessions, self.recovery)
        self.plugins = Plugins(engine, self.commands, self.channels, make_host, classes or {})
        self.dispatcher.before_message = ConfigWatch(loaded, self.plugins).check
        self._failures = FailureLog(engine)
        engine.services[Configuration] = CoreConfiguration(home, Runtime)

    async def __aenter__(self) -> Runtime:
        engine = self.engine
        make_home(engine.home)
        await engine.store.open()
        await engine.store.migrate("core", core_migrations(engine.store.dialect))
        engine.bus.watchdog.start()
        asyncio.get_running_loop().set_task_factory(self._make_task)
        engine.services[Conversations] = self.dispatcher
        engine.services[GatewayHost] = self.recovery
        engine.services[Inspection] = CoreInspection(engine, self.sessions, self.plugins)
        engine.bus.signals.connect("plugin_failed", self._failures.add)
        self.plugins.load()
        await asyncio.create_task(self.plugins.setup())  # of its own, so no plugin can cancel it
        return self

    async def __aexit__(self, *_exc: object) -> None:
        engine = self.engine
        engine.closing = True
        await engine.background.cancel()
        await self.plugins.teardown()
        await engine.aclose()
        await self._failures.store()
        await engine.node.leave()
        engine.bus.watchdog.stop()
        await engine.store.close()
        asyncio.get_running_loop().set_task_factory(None)

    def _make_task(self, loop: Any, work: Any, **options: Any) -> asyncio.Task[Any]:
        """Make a task; one made by a plugin's hook, by whatever means, ends with that plugin."""
        watchdog, code = self.bus.watchdog, getattr(work, "cr_code", None)
        running = watchdog.running
        if isinstance(running, Implementation) and code is not None:
            host = self.plugins.host(running.plugin)
            if host is not None and not code.co_filename.startswith(OWN_CODE):
                started = PluginCode(running.plugin, f"a task that {running.where} started")
                task = plugin_task(work, watchdog, started, **options)
                host.adopt(task)
                return task
        made = CoreTask(work, loop=loop, **options)
        made.watchdog = watchdog
        return made

    async def finish_background(self, seconds: float) -> None:
        """Wait for background work, at most ``seconds``."""
        await self.engine.background.finish(seconds)


class FailureLog:
    """Stores plugins' failures, each once in a process, for ``hookline plugins list``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen: set[PluginFailure] = set()
        self._new: list[PluginFailure] = []

    def add(self, event: PluginFailure, **_rest: Any) -> None:
        """Store a failure soon (receiver of ``plugin_failed``)."""
        if event in self._seen or len(self._seen) >= MOST_FAILURES:
            return
        self._seen.add(event)
        self._new.append(event)
        with suppress(RuntimeError):  # no event loop: stored at the end
            asyncio.get_running_loop()
            self._engine.background.start(self.store())

    async def store(self) -> None:
        """Store the failures that are not stored yet."""
        events, self._new = self._new, []
        for event in events:
            with suppress(HooklineError):  # a store that is absent, broken or full
                await self._engine.journal.record_failure(event.plugin, event.hook, event.reason)
