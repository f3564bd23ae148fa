"""The ``ctx`` of hooks: one context for each turn, and each plugin's view of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.errors import Refused
from hookline_hookspecs.history import Rewrite
from hookline_hookspecs.host import Stash
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.learning import Excerpt, Lesson
from hookline_hookspecs.messages import Message, ToolCall
from hookline_hookspecs.optional_services import Access
from hookline_hookspecs.origins import Effect, Origin
from hookline_hookspecs.paths import Paths
from hookline_hookspecs.questions import Question, QuestionAnswer
from hookline_hookspecs.replies import Notice
from hookline_hookspecs.secrets import redacted
from hookline_hookspecs.tools import Tool
from hookline_hookspecs.turns import Session, Turn
from hookline_hookspecs.verdicts import Deny

from .. import clock
from ..engine import Engine
from . import history
from .prompt import EMPTY_PROMPT
from .state import ActiveTurn, SessionState

current: ContextVar[TurnContext | None] = ContextVar("hookline_context", default=None)
"""The context of the running task; ``host.*`` uses it if called without a ``ctx``."""


def current_chat() -> str:
    """The chat that the running task or sub-agent works for; empty if none."""
    ctx = current.get()
    return f"{ctx.state.record.channel}:{ctx.state.record.chat_id}" if ctx is not None else ""


@dataclass(slots=True, eq=False)
class TurnContext:
    """The context of a turn, or of a session without a running turn.

    ``message`` is a message without a turn: a running command, or a message that is being checked.
    ``mode`` says how questions of a command are answered (see ``ActiveTurn``). ``approved`` is True
    if a person has just approved the call of ``tool``. ``failures`` are
    consecutive failures by plugin and ``disabled`` the plugins that are off for the session; they
    are repeated here because every hook call reads them.
    """

    engine: Engine
    state: SessionState
    active: ActiveTurn | None = None
    tool: Tool | None = None
    message: Inbound | None = None
    mode: str = "no"
    approved: bool = False
    failures: dict[str, int] = field(init=False)
    disabled: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.failures, self.disabled = self.state.cache.failures, self.state.cache.disabled

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Make this the running task's context."""
        token = current.set(self)
        try:
            yield
        finally:
            current.reset(token)

    @property
    def active_turn(self) -> ActiveTurn:
        """The running turn; the caller knows that there is one."""
        assert self.active is not None
        return self.active

    @property
    def model(self) -> str:
        """The turn's ``provider/model``, or the session's; empty if it follows the config."""
        return self.active.model if self.active is not None else self.state.model

    def of(self, plugin: str) -> PluginContext:
        """A plugin's view of this context. It has no state, so it is not cached."""
        return PluginContext(self, plugin)

    def turn(self) -> Turn:
        """The turn so far; an empty one between turns."""
        if self.active is None:
            return Turn("", self.state.record, self.inbound)
        now = self.active.snapshot()
        return now if self.message is None else replace(now, inbound=self.message)

    @property
    def inbound(self) -> Inbound:
        """The current message, or an empty one if there is none."""
        if self.message is not None:
            return self.message
        if self.active is not None:
            return self.active.inbound
        record = self.state.record
        return Inbound(record.channel, record.chat_id, "", "", "")

    @property
    def operator(self) -> bool:
        """True in the terminal, and where the service ``Access`` says so."""
        access: Access | None = self.engine.services.get(Access)
        inbound = self.inbound
        return inbound.channel == TERMINAL or bool(access and access.is_operator(inbound))

    def notify(self, text: str, plugin: str = "core") -> None:
        """Show the person a sentence in addition to the answer."""
        self.engine.bus.signals.send("notice", Notice(plugin, redacted(str(text))), self)

    async def pass_gate(self, hook: str, event: Excerpt | Lesson) -> str:
        """The text of ``event`` after ``pre_read`` or ``pre_learn``. Raises ``Refused``."""
        decision = await self.engine.bus.guard(hook, self, event)
        if isinstance(decision.verdict, Deny):
            raise Refused(decision.verdict.reason)
        return decision.event.text


class PluginContext:
    """A plugin's view of a turn (protocol ``Context``)."""

    __slots__ = ("_plugin", "base")

    def __init__(self, base: TurnContext, plugin: str) -> None:
        self.base = base
        self._plugin = plugin

    session = property(attrgetter("base.state.record"), doc="The session.")
    channel = property(
        attrgetter("base.inbound.channel"), doc="The channel that the message came from."
    )
    operator = property(attrgetter("base.operator"), doc="True for the terminal and admins.")
    tool = property(attrgetter("base.tool"), doc="In tool hooks: the tool that is called.")
    approved = property(
        attrgetter("base.approved"), doc="In tools: True if a person approved this call when asked."
    )
    turn = property(lambda self: self.base.turn(), doc="The turn so far.")
    host = property(lambda self: self.base.engine.hosts[self._plugin], doc="The plugin's host.")
    log = property(
        lambda self: logging.getLogger(f"hookline.plugin.{self._plugin}"), doc="The plugin's log."
    )
    interactive = property(
        lambda self: self.approval == "ask", doc="True if a person can be asked in this turn."
    )
    history = property(
        lambda self: self.base.state.messages(), doc="The session's messages, as they are sent."
    )

    @property
    def stash(self) -> Stash:
        """The plugin's own state for this turn."""
        base = self.base
        stashes: dict[str, Stash] = {} if base.active is None else base.active.stashes
        found = stashes.get(self._plugin)
        if found is None:
            found = stashes[self._plugin] = Stash()
            found.session = base.state.cache.stashes.setdefault(self._plugin, {})
        return found

    @property
    def model(self) -> str:
        """The turn's ``provider/model``, or the session's."""
        return self.base.model or self.base.engine.providers.default_model()

    async def rewrite(self, changes: Sequence[Rewrite]) -> tuple[Message, ...]:
        """Replace parts of the history permanently."""
        base = self.base
        return await history.rewrite(base.engine, base.state, base.active, changes, base)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The origins of the session's history and of this turn's results so far."""
        return self.base.state.origins()

    def effects(self, call: ToolCall) -> tuple[Effect, ...]:
        """What a tool call may do."""
        tool = self.base.engine.tools.get(call.name)
        if tool is None:
            return (Effect("unknown"),)
        return tool.declared_effects(self.base.of(tool.plugin), call)

    @property
    def approval(self) -> str:
        """How an ``Ask`` is answered in this turn."""
        return self.base.active.mode if self.base.active is not None else self.base.mode

    @property
    def paths(self) -> Paths:
        """Guarded file access to this session's workspace."""
        cache = self.base.state.cache
        if cache.paths is None:
            cache.paths = self.base.engine.guard_paths(self.base.state.workspace)
        return cache.paths

    def notify(self, text: str) -> None:
        """Show the person a sentence in addition to the answer."""
        self.base.notify(text, self._plugin)

    async def ask_model(self, prompt: str, **options: Any) -> str:
        """Ask the auxiliary model once. Its usage is charged to the session."""
        return await self.base.engine.ask_model(self.base, prompt, **options)

    async def read(self, text: str, source: str, kind: str = "file") -> str:
        """Pass ``text`` through the guards of ``pre_read``. Raises ``Refused``."""
        return await self.base.pass_gate("pre_read", Excerpt(kind, source, text))

    async def learn(
        self, text: str, source: str, kind: str, *, origins: Sequence[Origin] | None = None
    ) -> str:
        """Pass ``text`` through the guards of ``pre_learn``. Raises ``Refused``."""
        lesson_origins = self.origins if origins is None else tuple(origins)
        return await self.base.pass_gate("pre_learn", Lesson(kind, source, text, lesson_origins))

    def window(self, model: str | None = None) -> int:
        """The context window of ``provider/model``, or of the turn's model, in tokens."""
        return self.base.engine.providers.window(model or self.base.model)

    async def ask(self, question: Question) -> str | None:
        """Ask a person and wait for the answer; None if no one can answer, or no one does."""
        answer = await self.ask_answer(question)
        return answer.choice if answer is not None else None

    async def ask_answer(self, question: Question) -> QuestionAnswer | None:
        """Ask as :meth:`ask` does, and return the answer with who gave it."""
        return await self.base.engine.ask(self.base, question) if self.interactive else None


def detached_context(engine: Engine, message: Inbound | None = None) -> TurnContext:
    """A context without a session, with or without a ``message``."""
    channel, chat_id = (message.channel, message.chat_id) if message is not None else ("", "")
    workspace = message.workspace if message is not None else None
    record = Session("", channel, chat_id, None, clock.now(), kind="none")
    state = SessionState(
        record, EMPTY_PROMPT, "", workspace or workspace_of(engine, channel, chat_id)
    )
    return TurnContext(engine, state, message=message)


def workspace_of(engine: Engine, channel: str, chat_id: str) -> Path:
    """The folder in which a chat's tools work: the configured one, or the chat's own.

    The folder may not exist.
    """
    configured = engine.config.workspace
    if channel in ("", TERMINAL) or configured != ".":
        path = os.path.expanduser(configured)  # noqa: PTH111
        try:
            found = os.stat(path)  # noqa: PTH116 - runs for each message; a Path would be slower
        except OSError:
            return Path(os.path.realpath(path))
        return _real(path, found.st_dev, found.st_ino)
    return engine.home / "chats" / folder_name(channel) / folder_name(chat_id) / "work"


@lru_cache(64)
def _real(path: str, _device: int, _number: int) -> Path:
    """The real path of a folder, cached while the path leads to the same folder on disk."""
    return Path(os.path.realpath(path))


def folder_name(name: str) -> str:
    """A channel or chat id as a folder name, percent-encoded; also if it is only dots."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E") or "_"
