"""Sessions: found, created with a frozen prompt, kept in memory, rolled over, owned."""

from __future__ import annotations

import json
import logging
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hookline_hookspecs import SLOTS, Inbound, Message, ModelRequest
from hookline_hookspecs.events import PluginFailure, Question, Section, Session, ToolSchema

from .. import clock
from ..bus.implementation import describe
from ..sessions.active_turn import Running
from ..sessions.context import TERMINAL, TurnContext
from ..sessions.history import read_history
from ..sessions.prompt import StablePrompt, assemble, core_sections, tool_json
from ..sessions.state import SessionState, session_version
from ..store.codec import inbound_from_json
from ..store.journal import new_id, parts_from_json
from ..store.questions import question_from_json, question_to_json

if TYPE_CHECKING:
    from ..runtime import Runtime

log = logging.getLogger("hookline.sessions")
LOADED = 512
"""Idle sessions kept in memory."""
SLACK = 64
"""How many more there may be before the oldest are let go, all at once."""
WAIT_FOR_OWNER = 30.0
"""Seconds to wait for a session that another process works on."""
_MADE = re.compile(r"\d{8}-[0-9a-f]{8}")


def new_session_id() -> str:
    """A new session's id: the day and eight hexadecimal digits."""
    return f"{clock.today().replace('-', '')}-{new_id()[:8]}"


class Sessions:
    """Every session this process knows."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._states: OrderedDict[str, SessionState] = OrderedDict()

    @asynccontextmanager
    async def enter(self, inbound: Inbound) -> AsyncIterator[tuple[SessionState, bool]]:
        """Own the session that ``inbound`` belongs to; a new one is begun where it must be.

        Gives it and whether ``inbound`` has been received before.

        Raises:
            StoreError: another process kept the session for longer than 30 s.
        """
        journal, summary = self._runtime.journal, None
        session_id = inbound.session_id or await self._locate(inbound)
        while True:
            async with self.own(session_id):
                row = await journal.opening(session_id, named(session_id), inbound)
                if row["id"] is None:
                    chat = (inbound.channel, inbound.chat_id)
                    state = await self.create(session_id, *chat, summary=summary)
                elif row["ended"] is not None or self._over(state := await self._load(row)):
                    following = row["successor"] or _successor(session_id, inbound)
                    if row["ended"] is None:
                        await self.end(state, following)
                    elif not row["successor"]:
                        await journal.end_session(session_id, following)
                    session_id, summary = following, row["summary"]
                    continue
                state.recovered |= not row["left_over"]
                yield state, bool(row["known"])
                return

    def own(self, session_id: str) -> AbstractAsyncContextManager[None]:
        """Own a session among all processes."""
        return self._runtime.store.session_lock(session_id, WAIT_FOR_OWNER)

    async def _locate(self, inbound: Inbound) -> str:
        journal = self._runtime.journal
        if inbound.session_id is None:
            found = await journal.active_session(inbound.channel, inbound.chat_id)
            return found or new_session_id()
        session_id = inbound.session_id
        while (row := await journal.session(session_id)) and row["successor"]:
            session_id = row["successor"]
        return session_id

    def _over(self, state: SessionState) -> bool:
        limits, now = self._runtime.config.session, clock.now()
        idle = now - state.last_used > limits.idle_hours * 3600
        old = now - state.record.created > limits.max_days * 86400
        return state.record.kind == "chat" and (idle or old)

    async def _load(self, row: Mapping[str, Any]) -> SessionState:
        """The session's state, read anew if another process has worked on it."""
        version = session_version(row)
        state = self._states.get(row["id"])
        if state is None or state.version != version:
            state = await self._read(row)
            state.version = version
        await self.keep(state)
        return state

    async def _read(self, row: Mapping[str, Any]) -> SessionState:
        tools = tuple(ToolSchema(**item) for item in json.loads(row["tools"]))
        stable = StablePrompt(row["system"], tools, parts_from_json(row["parts"]))
        record = replace(self.record(row), resumed=True)
        state = SessionState(record, stable, row["model"], self.workspace(record))
        state.summary = row["summary"]
        state.question = question_from_json(row["question"])
        state.last_used = row["updated"]
        state.frozen = row["turns"] > 0
        state.told_workspace = row["workspace"]
        state.warm_until = row["warm_until"]
        await read_history(self._runtime.journal, state)
        return state

    async def keep(self, state: SessionState) -> None:
        """Have a session's state at hand; its plugins are told when it is the first time."""
        self._states[state.record.id] = state
        self._states.move_to_end(state.record.id)
        if not state.started:
            state.started = True
            ctx = TurnContext(self._runtime, state)
            await self._runtime.bus.observe("start_of_session", ctx, state.record)
        if len(self._states) > LOADED + SLACK:
            for session_id in list(self._states)[: len(self._states) - LOADED]:
                if self._states[session_id].running is None:
                    del self._states[session_id]

    async def create(
        self,
        session_id: str,
        channel: str,
        chat_id: str,
        *,
        kind: str = "chat",
        parent_id: str | None = None,
        tools: Sequence[str] | None = None,
        model: str | None = None,
        workspace: Path | None = None,
        summary: str | None = None,
    ) -> SessionState:
        """A new session: its prompt is assembled, frozen and stored."""
        runtime = self._runtime
        record = Session(session_id, channel, chat_id, None, clock.now(), False, parent_id, kind)
        workspace = workspace or self.workspace(record)
        state = SessionState(record, StablePrompt("", (), ()), model or "", workspace)
        state.stable = await assembled(runtime, state, tools)
        state.summary = summary
        state.last_used = record.created
        state.told_workspace = str(workspace)
        state.creating = runtime.journal.new_session(
            record, state.stable, model=state.model, workspace=str(workspace), summary=summary
        )
        await self.keep(state)
        return state

    async def store(self, state: SessionState) -> None:
        """Store a new session now; a turn does it with its first message."""
        creating, state.creating = state.creating, None
        if creating is not None:
            await self._runtime.journal.create_session(creating)

    async def refreeze(self, state: SessionState, request: ModelRequest) -> None:
        """What the first request really sends is what is frozen."""
        state.stable = StablePrompt(request.system, request.tools, state.stable.parts)
        await self._runtime.journal.refreeze(state.record.id, state.stable)

    async def end(self, state: SessionState, successor: str | None = None) -> None:
        """End a session: the next message of its chat begins a new one."""
        ctx = TurnContext(self._runtime, state)
        await self._runtime.bus.observe("end_of_session", ctx, state.record)
        await self._runtime.journal.end_session(state.record.id, successor)
        self.forget(state.record.id)

    async def fork(self, session_id: str, model: str | None, kind: str) -> SessionState:
        """A new session that begins with the prompt and the history of a stored one.

        Raises ``LookupError`` if there is none; its own rows hold what is added alone.
        """
        if await self._runtime.journal.session(session_id) is None:
            raise LookupError(f"there is no session {session_id}")
        old = await self.peek(session_id)
        record = replace(old.record, id=new_id(), created=clock.now(), parent_id=session_id)
        record = replace(record, kind=kind, title=None, resumed=False)
        state = replace(old, record=record, model=model or old.model, frozen=True, started=False)
        state.history = [replace(entry) for entry in old.history]
        state.prefix, state.stashes, state.strikes, state.off = dict(old.prefix), {}, {}, set()
        state.running, state.question, state.steering, state.writes = None, None, [], []
        state.creating = self._runtime.journal.new_session(
            record, old.stable, model=state.model, workspace=str(state.workspace), summary=None
        )
        await self.keep(state)
        return state

    async def set_title(self, session_id: str, title: str) -> None:
        """Give a session its title, at most 200 characters."""
        title = title[:200]
        await self._runtime.journal.update_session("set_title", session_id, title=title)
        if (state := self.loaded(session_id)) is not None:
            state.record = replace(state.record, title=title)

    async def find(self, inbound: Inbound) -> str | None:
        """The id of the session that ``inbound`` belongs to, if it is stored."""
        session_id = await self._locate(inbound)
        row = await self._runtime.journal.session(session_id)
        return session_id if row is not None and row["ended"] is None else None

    async def peek(self, session_id: str) -> SessionState:
        """A stored session's state for looking at, without owning it."""
        state = self._states.get(session_id)
        if state is not None:
            return state
        row = await self._runtime.journal.session(session_id)
        assert row is not None
        return await self._read(row)

    async def existing(self, session_id: str) -> SessionState | None:
        """The state of a stored session that the caller owns."""
        row = await self._runtime.journal.session(session_id)
        return None if row is None else await self._load(row)

    async def reopen(self, session_id: str) -> None:
        """Make a session its chat's current one again."""
        await self._runtime.journal.update_session("reopen_session", session_id, now=clock.now())
        self.forget(session_id)

    async def touched(self, state: SessionState) -> None:
        """Note what the store says after this process has worked on the session."""
        row = await self._runtime.journal.session(state.record.id)
        state.version = session_version(row) if row is not None else ()

    async def running_again(
        self, state: SessionState, row: Mapping[str, Any], mode: str
    ) -> Running:
        """A turn that a dead process left, as far as the journal knows it."""
        record = state.record
        inbound = Inbound(record.channel, record.chat_id, "", row["id"], "")
        if row["inbound"]:
            inbound = inbound_from_json(row["inbound"])
        running = Running(row["id"], state, inbound, row["inbox_id"], mode, state.model)
        running.entries = [entry for entry in state.history if entry.turn_id == row["id"]]
        running.iterations, running.usage = await self._runtime.journal.turn_usage(row["id"])
        return running

    def forget(self, session_id: str) -> None:
        """Drop what is in memory; the store has the rest."""
        self._states.pop(session_id, None)

    def loaded(self, session_id: str) -> SessionState | None:
        """The state in memory, if any."""
        return self._states.get(session_id)

    async def set_question(self, state: SessionState, question: Question | None) -> None:
        """Keep the question that the next message answers."""
        state.question = question
        text = question_to_json(question)
        await self._runtime.journal.update_session("set_question", state.record.id, question=text)

    def workspace(self, record: Session) -> Path:
        """Where the session's tools work: the configured folder, or the chat's own."""
        configured = self._runtime.config.workspace
        if record.channel == TERMINAL or configured != ".":
            return Path(configured).expanduser().resolve()
        channel, chat = (folder_name(name) for name in (record.channel, record.chat_id))
        folder = self._runtime.home / "chats" / channel / chat / "work"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    @staticmethod
    def record(row: Mapping[str, Any]) -> Session:
        """A stored row as a session."""
        names = ("id", "channel", "chat_id", "title", "created", "kind", "parent_id")
        return Session(**{name: row[name] for name in names if name in row})

    async def stored_messages(self, session_id: str) -> list[Message]:
        """A session's messages as stored, without sidecars."""
        rows = await self._runtime.journal.messages(session_id)
        return [Message.from_dict(json.loads(row["body"])) for row in rows]


async def preview(runtime: Runtime) -> StablePrompt:
    """The stable prompt that a new session in the terminal would get; nothing is stored."""
    record = Session("preview", TERMINAL, "default", None, clock.now())
    workspace = runtime.sessions.workspace(record)
    return await assembled(runtime, SessionState(record, StablePrompt("", (), ()), "", workspace))


async def assembled(
    runtime: Runtime, state: SessionState, tools: Sequence[str] | None = None
) -> StablePrompt:
    """The stable prompt of a new session, of core's sections and the plugins'."""
    record = state.record
    own = core_sections(record, str(state.workspace), runtime.config.operator_message)
    ctx = TurnContext(runtime, state)
    given = await runtime.bus.collect("system_prompt", ctx, record, Section)
    for plugin, section in given:
        if section.slot not in SLOTS:
            log.warning("plugin %s: there is no prompt slot %r", plugin, section.slot)
    return assemble(own, given, offered(runtime, record.kind, tools))


def offered(
    runtime: Runtime, kind: str = "chat", names: Sequence[str] | None = None
) -> Iterator[ToolSchema]:
    """The schemas of the tools that a session gets; one that cannot be made is left out."""
    for tool in runtime.tools.values():
        if (kind == "chat" or not tool.main_only) and (names is None or tool.name in names):
            try:
                tool_json(tool.schema)
                yield tool.schema
            except Exception as error:
                reason = f"its tool {tool.name} has no schema: {describe(error)}"
                failure = PluginFailure(tool.plugin, "register_tools", reason)
                runtime.bus.signals.send("plugin_failed", failure)
                log.warning("plugin %s: %s", tool.plugin, reason)


def _successor(session_id: str, inbound: Inbound) -> str:
    """The id after ``session_id``: a name a person chose is counted on, others are made anew."""
    if inbound.session_id is None or _MADE.fullmatch(session_id):
        return new_session_id()
    stem = named(session_id)
    number = 1 if stem == session_id else int(session_id.rpartition("~")[2])
    return f"{stem}~{number + 1}"


def folder_name(name: str) -> str:
    """A channel or chat as the name of a folder: percent-encoded, dots alone too."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E") or "_"


def named(session_id: str) -> str:
    """The name a person chose, of which ``session_id`` is the first session or a successor."""
    stem, _, number = session_id.rpartition("~")
    return stem if stem and number.isdigit() else session_id
