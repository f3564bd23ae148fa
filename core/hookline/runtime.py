"""The runtime: everything a process needs, and the way of a message through it."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from hookline_hookspecs.drivers import Store
from hookline_hookspecs.errors import HooklineError, Refused
from hookline_hookspecs.events import PluginFailure, Session
from hookline_hookspecs.host import Paths
from hookline_hookspecs.inspection import Inspection
from hookline_hookspecs.tools import Tool

from . import clock
from .bus.bus import Bus
from .bus.deadline import CoreTask, plugin_task
from .bus.implementation import Implementation
from .bus.watchdog import Work
from .config import Config, Loaded
from .dispatch.commands import Commands, CoreCommands
from .dispatch.dispatcher import Intake
from .dispatch.outbox import Channels, Outbox
from .engine import find_driver
from .home import make_home
from .inspection import CoreInspection
from .plugins.config_watch import ConfigWatch
from .plugins.loader import Plugins
from .providers import Providers
from .sessions.context import TurnContext
from .sessions.manager import Sessions
from .sessions.prompt import StablePrompt
from .sessions.state import SessionState
from .store.absent import AbsentStore
from .store.journal import Journal, core_migrations

log = logging.getLogger("hookline.runtime")
OWN_CODE = str(Path(__file__).parent)
FAILURES = 1000
"""Different failures of plugins that are kept of one process."""


class Runtime:
    """A running Hookline. Use it as an asynchronous context manager.

    Args:
        loaded: the config.
        home: its folder.
        store: the database; made from config if left out.
        strict: raise plugins' errors (``HOOKLINE_STRICT=1``).
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
        self.loaded = loaded
        self.home = home
        self.strict = os.environ.get("HOOKLINE_STRICT") == "1" if strict is None else strict
        self.config: Config = loaded.config
        self.bus = bus or Bus(strict=self.strict)
        self._given_store = store
        self.providers = Providers(loaded)
        self.tools: dict[str, Tool] = {}
        self.commands = Commands()
        self.services: dict[type, Any] = {}
        self.channels = Channels()
        self.outbox = Outbox(self)
        self.plugins = Plugins(self, loaded, classes or {})
        self.sessions = Sessions(self)
        self.intake = Intake(self)
        self.config_watch = ConfigWatch(self)
        self.closing = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failures: dict[PluginFailure, bool] = {}

    async def __aenter__(self) -> Runtime:
        make_home(self.home)
        await self.store.open()
        await self.store.migrate("core", core_migrations(self.store.dialect))
        self.bus.watchdog.start()
        asyncio.get_running_loop().set_task_factory(self._task)
        CoreCommands(self).register()
        self.services[Inspection] = CoreInspection(self)
        self.bus.signals.connect("plugin_failed", self._plugin_failed)
        self.plugins.load()
        await asyncio.create_task(self.plugins.setup())  # of its own, so no plugin can cancel it
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.plugins.teardown()
        await self.providers.aclose()
        if "http" in self.__dict__:
            await self.http.aclose()
        await self.bus.signals.aclose()
        with suppress(HooklineError):  # a store that is absent, broken or full
            await self.keep_failures()
        self.bus.watchdog.stop()
        await self.store.close()
        asyncio.get_running_loop().set_task_factory(None)

    def _task(self, loop: Any, work: Any, **options: Any) -> asyncio.Task[Any]:
        """A task; one that a plugin makes in a hook, by whatever means, ends with that plugin."""
        watchdog, code = self.bus.watchdog, getattr(work, "cr_code", None)
        running = watchdog.running
        if isinstance(running, Implementation) and code is not None:
            host = self.plugins.host(running.plugin)
            if host is not None and not code.co_filename.startswith(OWN_CODE):
                started = Work(running.plugin, f"a task that {running.where} started")
                task = plugin_task(work, watchdog, started, **options)
                host.adopt(task)
                return task
        made = CoreTask(work, loop=loop, **options)
        made.watchdog = watchdog
        return made

    @cached_property
    def store(self) -> Store:
        """The database, made at its first use."""
        return self._given_store or make_store(self.config.store, self.home)

    @cached_property
    def journal(self) -> Journal:
        """What is kept of sessions and turns."""
        return Journal(self.store)

    def _plugin_failed(self, event: PluginFailure, **_rest: Any) -> None:
        if len(self._failures) < FAILURES:
            self._failures.setdefault(event, False)

    async def keep_failures(self) -> None:
        """Store which plugins failed, each failure once, for `hookline plugins list`."""
        for event in [one for one, kept in self._failures.items() if not kept]:
            self._failures[event] = True
            await self.journal.plugin_failed(event.plugin, event.hook, event.reason)

    # What hooks and hosts ask for

    @cached_property
    def http(self) -> Any:
        """The guarded client (service ``http``). Raises ``Refused`` if it is not installed."""
        return self.service("http", "guards")(**self.config.network.model_dump())

    def default_model(self) -> str:
        """``provider/model``. Raises ``NoModel``."""
        return self.providers.default_model()

    @cached_property
    def paths(self) -> Paths:
        """Guarded files of the process's own workspace."""
        return self._guard(Path(self.config.workspace))

    def paths_of(self, state: SessionState) -> Paths:
        """Guarded files of a session's workspace."""
        if state.paths is None:
            state.paths = self._guard(state.workspace)
        return state.paths

    def _guard(self, workspace: Path) -> Paths:
        make, roots = self.service("paths", "guards"), self.config.paths.allowed_roots
        guard: Paths = make(workspace, allowed_roots=roots, home=self.home)
        return guard

    @staticmethod
    def service(name: str, dist: str) -> Any:
        """What makes ``host.NAME``. Raises ``Refused`` where its package is not installed."""
        make = find_driver("hookline.services", name)
        if make is None:
            raise Refused(f"host.{name} needs the package hookline-{dist}, which is not installed")
        return make

    def storage(self, plugin: str, package: str | None) -> Any:
        """What a plugin keeps; ``package`` holds its SQL. Raises ``Refused`` as above."""
        return self.service("storage", "storage")(self.store, plugin, package, self.home)

    def idle_context(self, channel: str = "", chat_id: str = "") -> TurnContext:
        """A context outside of any session."""
        record = Session("", channel, chat_id, None, clock.now(), kind="none")
        workspace = Path(self.config.workspace).expanduser().resolve()
        return TurnContext(self, SessionState(record, StablePrompt("", (), ()), "", workspace))

    async def finish_background(self, seconds: float) -> None:
        """Wait for background work, at most ``seconds``."""
        until = time.monotonic() + seconds
        while self._tasks and (left := until - time.monotonic()) > 0:
            await asyncio.wait(list(self._tasks), timeout=left)

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run work that is cancelled when the runtime closes."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

        def ended(done: asyncio.Task[Any]) -> None:
            self._tasks.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                log.error("background work failed: %s", error, exc_info=error)

        task.add_done_callback(ended)
        return task


def make_store(url: str, home: Path) -> Store:
    """The store that ``store:`` names: ``sqlite`` or the scheme of a URL."""
    name = url.split(":", 1)[0]
    driver = find_driver("hookline.stores", name)
    store: Any = (
        driver(url, home)
        if driver is not None
        else AbsentStore(
            f"The store {name!r} is not installed, so nothing can be kept. Install its package, "
            f"hookline-{name}, or choose another with `store:` in config.yaml."
        )
    )
    return store  # type: ignore[no-any-return]
