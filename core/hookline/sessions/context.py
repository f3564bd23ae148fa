"""What hooks receive first: one context for each turn, with a view of it for each plugin."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs.events import Inbound, Notice, Question, Rewrite, Session, Turn
from hookline_hookspecs.host import Access, Paths, Stash
from hookline_hookspecs.messages import Message
from hookline_hookspecs.tools import Tool

if TYPE_CHECKING:
    from ..runtime import Runtime
    from ..sessions.active_turn import Running
    from ..sessions.state import SessionState

TERMINAL = "terminal"
current: ContextVar[TurnContext | None] = ContextVar("hookline_context", default=None)
"""The context of the turn that the running task works for."""


class TurnContext:
    """The context of a turn, or of a session where no turn is under way."""

    __slots__ = ("_views", "command", "running", "runtime", "state", "tool")

    def __init__(
        self,
        runtime: Runtime,
        state: SessionState,
        running: Running | None = None,
        tool: Tool | None = None,
    ) -> None:
        self.runtime = runtime
        self.state = state
        self.running = running
        self.tool = tool
        self.command: Inbound | None = None
        """The message that is a command, while that runs."""
        self._views: dict[str, PluginContext] = {}

    def with_tool(self, tool: Tool) -> TurnContext:
        """The same context for one tool call; calls may run side by side."""
        return TurnContext(self.runtime, self.state, self.running, tool)

    @property
    def at_work(self) -> Running:
        """The turn under way, where there must be one."""
        assert self.running is not None
        return self.running

    @property
    def model(self) -> str:
        """The turn's ``provider/model``, or the session's; empty where config decides."""
        return self.running.model if self.running is not None else self.state.model

    @property
    def strikes(self) -> dict[str, int]:
        """Failures in a row by plugin."""
        return self.state.strikes

    @property
    def off(self) -> set[str]:
        """Plugins that are off for this session."""
        return self.state.off

    def of(self, plugin: str) -> PluginContext:
        """The plugin's own view."""
        view = self._views.get(plugin)
        if view is None:
            view = self._views[plugin] = PluginContext(self, plugin)
        return view

    def turn(self) -> Turn:
        """The turn so far; an empty one between turns."""
        if self.running is not None:
            now = self.running.snapshot()
            return now if self.command is None else replace(now, inbound=self.command)
        return Turn("", self.state.record, self.inbound)

    @property
    def inbound(self) -> Inbound:
        """The command's message, or one without words."""
        record = self.state.record
        return self.command or Inbound(record.channel, record.chat_id, "", "", "")

    @property
    def operator(self) -> bool:
        """True in the terminal, and where the plugin that offers ``Access`` says so."""
        access: Access | None = self.runtime.services.get(Access)
        inbound = self.turn().inbound
        return inbound.channel == TERMINAL or bool(access and access.is_operator(inbound))

    def notify(self, text: str, plugin: str = "core") -> None:
        """Tell the person a sentence beside the answer."""
        self.runtime.bus.signals.send("notice", Notice(plugin, text), self)


class PluginContext:
    """A plugin's view of a turn (protocol ``Context``)."""

    __slots__ = ("_base", "_plugin")

    def __init__(self, base: TurnContext, plugin: str) -> None:
        self._base = base
        self._plugin = plugin

    @property
    def session(self) -> Session:
        """The session."""
        return self._base.state.record

    @property
    def turn(self) -> Turn:
        """The turn so far."""
        return self._base.turn()

    @property
    def channel(self) -> str:
        """The name of the channel the message came by."""
        return self._base.state.record.channel

    @property
    def stash(self) -> Stash:
        """The plugin's own state for this turn."""
        base = self._base
        stashes: dict[str, Stash] = {} if base.running is None else base.running.stashes
        found = stashes.get(self._plugin)
        if found is None:
            found = stashes[self._plugin] = Stash()
            found.session = base.state.stashes.setdefault(self._plugin, {})
        return found

    @property
    def host(self) -> Any:
        """The plugin's host."""
        return self._base.runtime.plugins.host(self._plugin)

    @property
    def log(self) -> logging.Logger:
        """The plugin's log."""
        return logging.getLogger(f"hookline.plugin.{self._plugin}")

    @property
    def model(self) -> str:
        """The turn's ``provider/model``, or the session's."""
        return self._base.model or self._base.runtime.default_model()

    @property
    def history(self) -> tuple[Message, ...]:
        """The session's messages as they are sent."""
        return self._base.state.messages()

    async def rewrite(self, changes: Sequence[Rewrite]) -> tuple[Message, ...]:
        """Replace parts of the history for good."""
        from ..sessions.history import rewrite

        return await rewrite(self._base, changes)

    @property
    def operator(self) -> bool:
        """True for the terminal and admins."""
        return self._base.operator

    @property
    def interactive(self) -> bool:
        """True if a person can be asked in this turn."""
        return self._base.running is not None and self._base.running.mode == "ask"

    @property
    def paths(self) -> Paths:
        """Guarded files of this session's workspace."""
        return self._base.runtime.paths_of(self._base.state)

    @property
    def tool(self) -> Tool | None:
        """The tool of the call at hand, in the tool hooks."""
        return self._base.tool

    def notify(self, text: str) -> None:
        """Tell the person a sentence beside the answer."""
        self._base.notify(text, self._plugin)

    async def ask_model(self, prompt: str, **options: Any) -> str:
        """Ask the auxiliary model once; this session is charged."""
        found: str = await self.host.ask_model(prompt, **options, ctx=self)
        return found

    async def read(self, text: str, source: str, kind: str = "file") -> str:
        """``text`` after the gate ``pre_read``."""
        found: str = await self.host.read(text, source, kind, ctx=self)
        return found

    async def learn(self, text: str, source: str, kind: str) -> str:
        """``text`` after the gate ``pre_learn``."""
        found: str = await self.host.learn(text, source, kind, ctx=self)
        return found

    def window(self, model: str | None = None) -> int:
        """The context window of ``provider/model``, or of the turn's model, in tokens."""
        return self._base.runtime.providers.window(model or self._base.model)

    async def ask(self, question: Question) -> str | None:
        """Put a question to a person now; None if nobody can answer."""
        if not self.interactive:
            return None
        return await self._base.runtime.bus.first("on_question", self._base, question, str)
