"""The runtime: creates, connects, opens and closes all parts of a process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hookline_hookspecs.bound_files import CallFiles
from hookline_hookspecs.command_source import CommandSource
from hookline_hookspecs.conversations import Conversations, SessionBranches
from hookline_hookspecs.drivers import Store
from hookline_hookspecs.folder_trust import FolderContentSource, FolderQuestions, FolderTrust
from hookline_hookspecs.gateway import GatewayHost, WorkDistribution
from hookline_hookspecs.inspection import Configuration, Inspection
from hookline_hookspecs.questions import QuestionHandler, Questions
from hookline_hookspecs.workspaces import Workspaces

from .bus.bus import Bus
from .bus.monitor import BlockMonitor
from .config import Loaded, open_secret_sources
from .config.project import ProjectContent
from .config.trusted_folders import TrustedFolders
from .dispatch.dispatcher import Dispatcher
from .dispatch.gateway_host import CoreGatewayHost
from .dispatch.local_work import LocalWork
from .dispatch.outbox import Channels, Outbox
from .dispatch.plugin_turns import PluginTurns
from .dispatch.processor import MessageProcessor
from .dispatch.recovery import SessionRecovery
from .dispatch.slash_commands import SlashCommands
from .engine import Engine
from .home import make_home
from .inspection import CoreConfiguration, CoreInspection
from .plugins.host import PluginHost
from .plugins.loader import Plugins
from .questions.ask import ask_answer
from .questions.folder_trust import FolderTrustQuestions
from .questions.service import QuestionService
from .sessions.branches import StoredSessionBranches
from .sessions.context import current_chat
from .sessions.manager import Sessions
from .sessions.workspaces import ConfiguredWorkspaces
from .store.journal import core_migrations
from .turn.call_files import BoundCallFiles
from .turn.model_call import ask_auxiliary


class Runtime:
    """A running Hookline. Use it as an asynchronous context manager.

    Args:
        loaded: the config.
        home: the home folder.
        store: the database. Default: the one that config names.
        strict: raise plugins' errors. Default: only if ``HOOKLINE_STRICT=1``.
        bus: the event bus. Default: a new one.
        classes: plugin classes by name that are used without an entry point.
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
        engine.ask_model, engine.chat = ask_auxiliary, current_chat
        engine.ask = ask_answer
        engine.services[Questions] = QuestionService(engine)
        engine.services[CallFiles] = BoundCallFiles(engine)
        engine.services[FolderTrust] = TrustedFolders(home)
        folders = engine.services[FolderQuestions] = FolderTrustQuestions(engine)
        engine.added_services.setdefault(QuestionHandler, []).append(folders)
        self.bus = engine.bus
        self.commands = SlashCommands(lambda: engine.added_services.get(CommandSource, ()))
        self.channels = Channels()
        self.outbox = Outbox(engine, self.channels)
        self.sessions = Sessions(engine)
        processor = MessageProcessor(engine, self.sessions, self.commands, self.outbox)
        recovery = SessionRecovery(engine, self.sessions, self.outbox, processor)
        self.dispatcher = Dispatcher(
            engine, self.sessions, self.commands, self.outbox, processor, recovery
        )
        turns = PluginTurns(engine, self.sessions, processor, recovery)
        make_host = partial(
            PluginHost, engine, self.sessions, self.channels, self.dispatcher, turns
        )
        self.plugins = Plugins(engine, self.commands, self.channels, make_host, classes or {})
        self.gateway_host = CoreGatewayHost(
            engine,
            self.sessions,
            self.dispatcher,
            recovery,
            self.outbox,
            self.plugins.switch_off_files,
        )
        self.dispatcher.watch_questions = self.gateway_host.watch.start
        self._monitor = BlockMonitor(
            lambda: {**engine.providers.created(), **self.plugins.instances()},
            self.bus.report_block,
        )
        self.finish_background = engine.background.finish
        engine.default_services[WorkDistribution] = LocalWork(engine)
        engine.services[Configuration] = CoreConfiguration(
            home, self.plugins, Runtime, engine, uses_project=loaded.uses_project
        )
        engine.added_services.setdefault(FolderContentSource, []).append(ProjectContent(home))

    async def __aenter__(self) -> Runtime:
        engine = self.engine
        make_home(engine.home)
        await engine.store.open()
        await engine.store.migrate("core", core_migrations(engine.store.dialect))
        await open_secret_sources(engine.loaded.source, engine.home, engine.storage)
        self._monitor.start()
        engine.services[Conversations] = self.dispatcher
        engine.services[SessionBranches] = StoredSessionBranches(engine)
        engine.services[GatewayHost] = self.gateway_host
        engine.services[Workspaces] = ConfiguredWorkspaces(engine)
        engine.services[Store] = engine.store
        engine.services[Inspection] = CoreInspection(engine, self.sessions, self.plugins)
        self.plugins.load()
        await self.plugins.setup()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        engine = self.engine
        engine.closing = True
        await engine.background.cancel()
        await self.plugins.teardown()
        await engine.aclose()
        await engine.node.leave()
        self._monitor.stop()
        await engine.store.close()
