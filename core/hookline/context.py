"""What hooks receive first: one context for each turn, with a view of it for each plugin."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from hookline_hookspecs.events import Inbound, Notice, Question, Session, Turn
from hookline_hookspecs.host import Paths, Stash
from hookline_hookspecs.tools import Tool

if TYPE_CHECKING:
    from .runtime import Runtime
    from .session import SessionState
    from .turn import Running

current: ContextVar[TurnContext | None] = ContextVar("hookline_context", default=None)
"""The context of the turn that the running task works for."""


class TurnContext:
    """The context of a turn, or of a session where no turn is under way."""

    __slots__ = ("_views", "running", "runtime", "state", "tool")

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
        self._views: dict[str, PluginContext] = {}

    def with_tool(self, tool: Tool) -> TurnContext:
        """The same context for one tool call; calls may run side by side."""
        return TurnContext(self.runtime, self.state, self.running, tool)

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
            return self.running.snapshot()
        record = self.state.record
        return Turn("", record, Inbound(record.channel, record.chat_id, "", "", ""))

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

    async def ask(self, question: Question) -> str | None:
        """Put a question to a person now; None if nobody can answer."""
        if not self.interactive:
            return None
        return await self._base.runtime.bus.first("on_question", self._base, question, str)
