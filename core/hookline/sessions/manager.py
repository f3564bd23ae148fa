"""Finds, creates, owns, caches and ends sessions."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from hookline_hookspecs import SLOTS, Inbound, Message, Origin
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.inspection import StablePrompt
from hookline_hookspecs.prompt import Section
from hookline_hookspecs.replies import Notice
from hookline_hookspecs.requests import ToolSchema
from hookline_hookspecs.turns import Session

from .. import clock
from ..bus.bus import MAX_FAILURES
from ..bus.implementation import describe
from ..engine import Engine
from ..store.codec import question_from_json, readable
from ..text import new_id
from .context import TurnContext, workspace_of
from .history import CachedMessages, read_history
from .prompt import EMPTY_PROMPT, assemble, core_sections, stable_prompt, tool_json
from .state import (
    HistoryEntry,
    SessionCache,
    SessionFlags,
    SessionState,
    refresh_version,
    session_version,
)

log = logging.getLogger("hookline.sessions")
MAX_CACHED_SESSIONS = 512
"""Maximum number of idle sessions in memory."""
EVICTION_SLACK = 64
"""Sessions above the maximum before the oldest are dropped together."""
WAIT_FOR_OWNER = 30.0
"""Seconds to wait for a session that another process owns."""
IN_USE_NOTICE_DELAY = 0.5
"""Seconds of waiting for a session after which the person is notified."""
_GENERATED = re.compile(r"\d{8}-[0-9a-f]{8}")


def new_session_id() -> str:
    """A new session id: the date and eight hexadecimal digits."""
    return f"{clock.today().replace('-', '')}-{new_id()[:8]}"


class Sessions:
    """The sessions that this process works with."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._states: OrderedDict[str, SessionState] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._latest: WeakValueDictionary[tuple[str, str], SessionState] = WeakValueDictionary()
        """The session of each chat's last message; the store knows whether it is still current."""
        self._reopened: set[str] = set()
        """Sessions exempt from the maximum age."""
        self._cached_messages = CachedMessages()

    # Finding and owning

    @asynccontextmanager
    async def acquire(
        self, inbound: Inbound, known_id: str
    ) -> AsyncIterator[tuple[SessionState, bool]]:
        """Own the session of ``inbound``; create it, or the successor of an ended one, if needed.

        The name of an ended session leads to its latest successor. ``known_id`` is the chat's
        session when the message was checked; empty if it had none. Yields the state and whether
        ``inbound`` was received before.

        Raises:
            StoreError: another process owned the session for longer than 30 s.
        """
        summary: str | None = None
        inherited: tuple[Origin, ...] = ()
        chat = (inbound.channel, inbound.chat_id)
        latest = self._latest.get(chat)
        chat_session = latest.record.id if latest else known_id
        session_id = inbound.session_id or chat_session or new_session_id()
        while True:
            async with self.lock(session_id):
                row = await self._engine.journal.session_for_owner(
                    session_id, base_session_id(session_id), inbound
                )
                is_stored, active = row["id"] is not None, row["active"]
                is_other = active != session_id and (active is not None or is_stored)
                if not inbound.session_id and is_other:
                    session_id = active or new_session_id()
                    continue
                if not is_stored:
                    record = Session(session_id, *chat, None, clock.now())
                    state = await self.create(record, summary=summary, workspace=inbound.workspace)
                    state.inherited = inherited
                elif row["ended"] is not None or self._expired(state := await self._load(row)):
                    successor = row["successor"] or _successor_id(session_id, inbound)
                    if row["ended"] is None:
                        await self.end(state, successor)
                    elif not row["successor"]:
                        await self._engine.journal.end_session(session_id, successor)
                    session_id, summary = successor, row["summary"]
                    inherited = (await self._read(row)).origins() if summary else ()
                    continue
                if not inbound.session_id:
                    self._latest[chat] = state
                state.flags.recovered |= not row["left_over"]
                state.flags.open_choices = bool(row["open_choices"])
                state.work_in(inbound.workspace)
                was_received = bool(row["known"])
                del row  # it contains the prompt, which would stay in memory during the turn
                yield state, was_received
                return

    @asynccontextmanager
    async def lock(self, session_id: str, wait: float = WAIT_FOR_OWNER) -> AsyncIterator[None]:
        """Own a session exclusively among all tasks and processes.

        If the session is not free within :data:`IN_USE_NOTICE_DELAY`, a notice is sent.

        Raises:
            StoreError: another process owned it for longer than ``wait`` seconds.
        """
        async with self._locks.setdefault(session_id, asyncio.Lock()):
            waiting = asyncio.get_running_loop().call_later(
                IN_USE_NOTICE_DELAY, self._notify_in_use, session_id
            )
            async with self._engine.store.own(session_id, wait, f"Session {session_id}"):
                waiting.cancel()
                yield

    def _notify_in_use(self, session_id: str) -> None:
        text = f"Session {session_id} is in use by another process. Waiting until it is free …"
        self._engine.bus.signals.send("notice", Notice("core", text), None)

    async def find(self, inbound: Inbound) -> str | None:
        """The id of the stored session that ``inbound`` belongs to, if it has not ended."""
        journal = self._engine.journal
        if inbound.session_id is None:
            return await journal.active_session(inbound.channel, inbound.chat_id)
        session_id = inbound.session_id
        while (row := await journal.session(session_id)) and row["successor"]:
            session_id = row["successor"]
        return session_id if row is not None and row["ended"] is None else None

    async def current(self, inbound: Inbound) -> SessionState | None:
        """The session that ``inbound`` belongs to, for reading only; None if it has none.

        If the chat's latest session is in memory, the store is not read.
        """
        if inbound.session_id is not None:
            known = self._states.get(inbound.session_id)
        else:
            known = self._latest.get((inbound.channel, inbound.chat_id))
        if known is not None and self._states.get(known.record.id) is known:
            return known
        session_id = await self.find(inbound)
        return await self.load_readonly(session_id) if session_id is not None else None

    def _expired(self, state: SessionState) -> bool:
        limits, now = self._engine.config.session, clock.now()
        idle = now - state.last_used
        age = 0.0 if state.record.id in self._reopened else now - state.record.created
        return state.record.kind == "chat" and (
            idle > limits.idle_hours * 3600 or age > limits.max_days * 86400
        )

    # Reading

    async def _load(self, row: Mapping[str, Any]) -> SessionState:
        """The session's state, read again if another process has changed the session."""
        version = session_version(row)
        state = self._states.get(row["id"])
        if state is None or state.version != version:
            state = await self._read(row)
            state.version = version
        await self.cache(state)
        return state

    async def _read(self, row: Mapping[str, Any]) -> SessionState:
        record = replace(self.record(row), resumed=True)
        what = f"the prompt of session {record.id}"
        parts: tuple[tuple[str, str, str], ...]
        parts = readable(
            what,
            lambda: tuple((p["plugin"], p["slot"], p["text"]) for p in json.loads(row["parts"])),
            (),
        )
        tools = readable(what, lambda: _stored_tools(row["tools"]), tuple[ToolSchema, ...]())
        stable, workspace = stable_prompt(row["system"], tools, parts), self.workspace(record)
        state = SessionState(
            record, stable, row["model"], workspace, row["summary"], last_used=row["updated"]
        )
        state.warm_until, state.question = row["warm_until"], question_from_json(row["question"])
        state.flags = SessionFlags(frozen=row["turns"] > 0, workspace=row["workspace"])
        failures: dict[str, int]
        failures = readable(what, lambda: dict(json.loads(row["failures"])), {})
        state.cache = SessionCache(
            failures=failures,
            stored_failures=dict(failures),
            disabled={plugin for plugin, count in failures.items() if count >= MAX_FAILURES},
        )
        await read_history(self._engine.journal, state)
        return state

    async def load_readonly(self, session_id: str) -> SessionState | None:
        """The state of a stored session, for reading without owning it."""
        state = self._states.get(session_id)
        if state is not None:
            return state
        row = await self._engine.journal.session(session_id)
        return None if row is None else await self._read(row)

    async def existing(self, session_id: str) -> SessionState | None:
        """The state of a stored session that the caller owns."""
        row = await self._engine.journal.session(session_id)
        return None if row is None else await self._load(row)

    async def store_failures(self, state: SessionState) -> None:
        """Store how often plugins have failed in a row in a session, if that has changed."""
        cache = state.cache
        if cache.failures != cache.stored_failures:
            cache.stored_failures = dict(cache.failures)
            await self._engine.journal.update_session(
                "set_failures", state.record.id, failures=json.dumps(cache.failures)
            )

    def loaded(self, session_id: str) -> SessionState | None:
        """The state in memory, if any."""
        return self._states.get(session_id)

    async def cache(self, state: SessionState) -> None:
        """Keep a session in memory, and call ``start_of_session`` the first time."""
        self._states[state.record.id] = state
        self._states.move_to_end(state.record.id)
        if not state.flags.announced:
            state.flags.announced = True
            ctx = TurnContext(self._engine, state)
            with ctx.activate():
                await self._engine.bus.observe("start_of_session", ctx, state.record)
        if len(self._states) > MAX_CACHED_SESSIONS + EVICTION_SLACK:
            for session_id in list(self._states)[: len(self._states) - MAX_CACHED_SESSIONS]:
                if self._states[session_id].active is None:
                    del self._states[session_id]

    def evict(self, session_id: str) -> None:
        """Drop a session from memory; the store has it."""
        self._states.pop(session_id, None)

    # Creating and ending

    async def create(
        self,
        record: Session,
        *,
        tools: Sequence[str] | None = None,
        model: str = "",
        workspace: Path | None = None,
        summary: str | None = None,
    ) -> SessionState:
        """Create a session with a frozen prompt; its first turn stores it."""
        workspace = workspace or self.workspace(record)
        state = SessionState(record, EMPTY_PROMPT, model, workspace, summary=summary)
        state.stable = await build_prompt(self._engine, state, tools)
        state.last_used = record.created
        state.flags.workspace = str(workspace)
        await self._cache_new(state)
        return state

    async def fork(self, session_id: str, model: str | None, kind: str) -> SessionState:
        """Create a session with the prompt and history of a stored one.

        Only the messages added to the new session are stored for it.

        Raises:
            LookupError: the session is not stored.
        """
        old = await self.load_readonly(session_id)
        if old is None or await self._engine.journal.session(session_id) is None:
            raise LookupError(f"unknown session {session_id}")
        record = replace(old.record, id=new_id(), created=clock.now(), parent_id=session_id)
        record = replace(record, kind=kind, title=None, resumed=False)
        state = SessionState(record, old.stable, model or old.model, old.workspace)
        state.history = [HistoryEntry(one.seq, one.turn_id, one.message) for one in old.history]
        state.next_seq, state.warm_until, state.cache.paths = (
            old.next_seq,
            old.warm_until,
            old.cache.paths,
        )
        state.last_used, state.cache.prefix = old.last_used, dict(old.cache.prefix)
        state.flags = replace(old.flags, announced=False, frozen=True)
        await self._cache_new(state)
        return state

    async def _cache_new(self, state: SessionState) -> None:
        state.pending.creating = self._engine.journal.new_session(
            state.record,
            state.stable,
            model=state.model,
            workspace=str(state.workspace),
            summary=state.summary,
        )
        await self.cache(state)

    async def store(self, state: SessionState) -> None:
        """Store a new session now instead of with its first turn."""
        creating, state.pending.creating = state.pending.creating, None
        if creating is not None:
            await self._engine.journal.create_session(
                creating, [(e.seq, e.message) for e in state.history]
            )

    async def begin(self, record: Session, messages: Sequence[Message]) -> bool:
        """Store a new session that starts with ``messages``; False if its id already exists."""
        async with self.lock(record.id):
            if await self._engine.journal.session(record.id) is not None:
                return False
            state = await self.create(record)
            for message in messages:
                state.append("", message)
            await self.store(state)
            return True

    async def archive(
        self, record: Session, messages: Sequence[tuple[float, Message]], ended: float
    ) -> bool:
        """Store an imported session that has ended; False if its id already exists."""
        async with self.lock(record.id):
            if await self._engine.journal.session(record.id) is not None:
                return False
            creating = self._engine.journal.new_session(
                record, EMPTY_PROMPT, model="", workspace="", summary=None
            )
            await self._engine.journal.archive_session(creating, messages, ended)
            return True

    async def end(self, state: SessionState, successor: str | None = None) -> None:
        """End a session. The next message of its chat starts a new one."""
        ctx = TurnContext(self._engine, state)
        with ctx.activate():
            await self._engine.bus.observe("end_of_session", ctx, state.record)
        await self._engine.journal.end_session(state.record.id, successor)
        self.evict(state.record.id)

    # Changing

    async def set_title(self, session_id: str, title: str) -> None:
        """Set a session's title, cut to 200 characters."""
        title = title[:200]
        await self._engine.journal.update_session("set_title", session_id, title=title)
        if (state := self.loaded(session_id)) is not None:
            state.record = replace(state.record, title=title)

    async def set_model(self, state: SessionState, model: str) -> None:
        """Set a session's ``provider/model``."""
        state.model = model
        await self._engine.journal.update_session("set_model", state.record.id, model=model)
        await refresh_version(self._engine.journal, state)

    async def undo_turn(self, state: SessionState) -> str | None:
        """Remove the last turn from the history; return its user message, or None if no turn."""
        turn_id = state.history[-1].turn_id if state.history else ""
        if not turn_id:
            return None
        undone = [entry.message for entry in state.history if entry.turn_id == turn_id]
        state.history = [entry for entry in state.history if entry.turn_id != turn_id]
        state.cache.prefix.clear()
        await self._engine.journal.undo_turn(state.record.id, turn_id)
        await refresh_version(self._engine.journal, state)
        return next((message.text for message in undone if message.role == "user"), "")

    async def reopen(self, session_id: str) -> None:
        """Make a session its chat's current one again, regardless of its age."""
        self._reopened.add(session_id)
        row = await self._engine.journal.session(session_id)
        if row is not None and not row["system"]:  # an archived session has no prompt yet
            await self._engine.journal.refreeze(
                session_id, await build_prompt(self._engine, await self._read(row))
            )
        await self._engine.journal.update_session("reopen_session", session_id, now=clock.now())
        self.evict(session_id)

    def workspace(self, record: Session) -> Path:
        """The folder in which the session's tools work; a chat's own folder is created."""
        folder = workspace_of(self._engine, record.channel, record.chat_id)
        if folder.is_relative_to(self._engine.home / "chats"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    @staticmethod
    def record(row: Mapping[str, Any]) -> Session:
        """Convert a stored row to a session."""
        names = ("id", "channel", "chat_id", "title", "created", "kind", "parent_id")
        return Session(**{name: row[name] for name in names if name in row})

    async def stored_messages(self, session_id: str) -> list[Message]:
        """A session's messages as stored, without sidecars."""
        self._cached_messages = read = await self._cached_messages.read(
            self._engine.journal, session_id
        )
        return [*read.messages]

    async def preview(self) -> StablePrompt:
        """The stable prompt of a new session in the terminal; nothing is stored."""
        record = Session("preview", TERMINAL, "default", None, clock.now())
        return await build_prompt(
            self._engine, SessionState(record, EMPTY_PROMPT, "", self.workspace(record))
        )


async def build_prompt(
    engine: Engine, state: SessionState, tools: Sequence[str] | None = None
) -> StablePrompt:
    """Build the stable prompt of a new session from the sections of core and plugins."""
    record = state.record
    core = core_sections(record, str(state.workspace), engine.config.operator_message)
    ctx = TurnContext(engine, state)
    with ctx.activate():
        contributed = await engine.bus.collect("system_prompt", ctx, record, Section)
    for plugin, section in contributed:
        if section.slot not in SLOTS:
            log.warning("plugin %s: unknown prompt slot %r", plugin, section.slot)
    return assemble(core, contributed, _offered_schemas(engine, record.kind, tools))


def _offered_schemas(
    engine: Engine, kind: str, names: Sequence[str] | None
) -> Iterator[ToolSchema]:
    """The schemas of the tools that a session offers, except those that cannot be encoded."""
    for tool in engine.tools.values():
        for_kind = (kind == "chat" or not tool.main_only) and not tool.deferred
        if for_kind and (names is None or tool.name in names):
            try:
                schema = tool.offered_schema
                tool_json(schema)
                yield schema
            except Exception as error:
                reason = f"its tool {tool.name} has no schema: {describe(error)}"
                engine.bus.signals.send_failure(tool.plugin, "register_tools", reason)
                log.warning("plugin %s: %s", tool.plugin, reason)


@lru_cache(64)
def _stored_tools(text: str) -> tuple[ToolSchema, ...]:
    """Decode tool schemas; cached, because most sessions have the same tools."""
    return tuple(ToolSchema(**item) for item in json.loads(text))


def _successor_id(session_id: str, inbound: Inbound) -> str:
    """The id of the next session: a chosen name gets a number, other ids are generated."""
    if inbound.session_id is None or _GENERATED.fullmatch(session_id):
        return new_session_id()
    name = base_session_id(session_id)
    number = 1 if name == session_id else int(session_id.rpartition("~")[2])
    return f"{name}~{number + 1}"


def base_session_id(session_id: str) -> str:
    """The id without a successor's number: ``work`` for both ``work`` and ``work~2``."""
    name, _, number = session_id.rpartition("~")
    return name if name and number.isdigit() else session_id
