"""A session in memory, and the turn under way in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hookline_hookspecs import Failure, Inbound, Question, Reply, Usage, crash
from hookline_hookspecs.host import Stash
from hookline_hookspecs.inspection import StablePrompt
from hookline_hookspecs.messages import Message, TextBlock
from hookline_hookspecs.origins import Origin, merge_origins
from hookline_hookspecs.paths import Paths
from hookline_hookspecs.prompt import ContextBlock
from hookline_hookspecs.tool_results import ToolResult
from hookline_hookspecs.turns import Session, Stop, Turn

from ..store.codec import question_to_json
from ..store.journal import Journal, Statement
from ..text import new_id

SYNC_TOOLS = 8
"""Synchronous tools of one session that run at once; the others wait."""


@dataclass(slots=True)
class Entry:
    """A message of the history, where it is stored and the turn it belongs to.

    ``turn_id`` is empty for a message that replaces those of several turns.
    """

    seq: int
    turn_id: str
    message: Message


@dataclass(slots=True)
class SessionCache:
    """What this process knows of a session and may forget.

    ``prefix`` is what was sent last, by model; ``stashes`` are the plugins' own; ``failures`` are
    failures in a row by plugin and ``disabled`` the plugins switched off for the session.
    """

    prefix: dict[str, Any] = field(default_factory=dict)
    stashes: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    paths: Paths | None = None


@dataclass(slots=True)
class SessionFlags:
    """What has happened to a session in this process.

    ``announced``: plugins have seen ``start_of_session``; ``recovered``: nothing unfinished is
    left of another process; ``frozen``: the first request has been sent. ``date`` and
    ``workspace`` are those that the model knows of.
    """

    announced: bool = False
    recovered: bool = False
    frozen: bool = False
    date: str | None = None
    workspace: str | None = None


@dataclass(slots=True)
class Pending:
    """What waits for the session's next turn or reply.

    ``steering`` was said into the turn under way; ``rerun`` replaces the command at hand;
    ``undelivered`` are stored replies that nobody has seen; ``writes`` are under way; ``creating``
    stores a new session with its first turn.
    """

    steering: list[TextBlock] = field(default_factory=list)
    rerun: Inbound | None = None
    undelivered: list[Mapping[str, Any]] = field(default_factory=list)
    writes: list[Awaitable[Any]] = field(default_factory=list)
    creating: Statement | None = None


@dataclass(slots=True, weakref_slot=True, eq=False)
class SessionState:
    """A session as this process holds it.

    ``model`` is empty where the session follows the config. ``version`` is what the store said
    when the history was read: another process that has worked on the session since leaves another
    one. ``inherited`` are the origins of ``summary``, until the first turn has it in its message.
    ``warm_until`` is when the provider forgets what was sent.
    """

    record: Session
    stable: StablePrompt
    model: str
    workspace: Path
    summary: str | None = None
    inherited: tuple[Origin, ...] = ()
    question: Question | None = None
    history: list[Entry] = field(default_factory=list)
    next_seq: int = 1
    version: tuple[Any, ...] = ()
    last_used: float = 0.0
    warm_until: float = 0.0
    active: ActiveTurn | None = None
    cache: SessionCache = field(default_factory=SessionCache)
    flags: SessionFlags = field(default_factory=SessionFlags)
    pending: Pending = field(default_factory=Pending)
    threads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SYNC_TOOLS))

    def append(self, turn_id: str, message: Message) -> Entry:
        """Append a message to the history."""
        entry = Entry(self.next_seq, turn_id, message)
        self.next_seq += 1
        self.history.append(entry)
        return entry

    def messages(self) -> tuple[Message, ...]:
        """The history as it is sent."""
        return tuple([entry.message for entry in self.history])

    def origins(self) -> tuple[Origin, ...]:
        """Where everything in the history came from, and what the turn under way has read since."""
        read = [result.origins for result in self.active.finished.values()] if self.active else []
        return merge_origins(
            self.inherited, *[entry.message.origins for entry in self.history], *read
        )

    def work_in(self, folder: Path | None) -> None:
        """Let tools work in ``folder`` from now on, unless it is None."""
        if folder is not None and folder != self.workspace:
            self.workspace, self.cache.paths = folder, None

    def take_steering(self) -> list[TextBlock]:
        """What was said into the turn since it was last asked for."""
        texts, self.pending.steering = self.pending.steering, []
        return texts


@dataclass(slots=True)
class Outcome:
    """What a turn came to; ``stop`` is empty until it has ended.

    ``claimed`` is the stored row of a reply that is to be sent from memory.
    """

    reply: str = ""
    question: Question | None = None
    stop: Stop = ""
    error: Failure | None = None
    sent: Reply | None = None
    claimed: Mapping[str, Any] | None = None


@dataclass(slots=True)
class ActiveTurn:
    """A turn under way. ``finished`` holds the results of the newest response's calls.

    ``mode`` says who answers an Ask: ``ask`` a person, ``yes`` nobody has to, ``no`` nobody can.
    ``max_calls`` limits the model calls and ends the turn there; 0 follows the config.
    ``streamed`` are the pieces received of the current response; a piece that is not text is "".
    ``direct`` is True if the caller delivers the reply as soon as the turn ends. ``left_over`` is
    True if another process left the turn or its message: its channel's process sends the reply.
    """

    id: str
    state: SessionState
    inbound: Inbound
    inbox_id: str | None
    mode: str
    model: str
    max_calls: int = 0
    resumed: bool = False
    direct: bool = False
    left_over: bool = False
    blocks: tuple[ContextBlock, ...] = ()
    entries: list[Entry] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)
    finished: dict[str, ToolResult] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    iterations: int = 0
    outcome: Outcome = field(default_factory=Outcome)
    stashes: dict[str, Stash] = field(default_factory=dict)
    task: asyncio.Task[Any] | None = None
    stopping: bool = False
    _writes: list[Awaitable[Any]] = field(default_factory=list)
    _lost: BaseException | None = None

    def __post_init__(self) -> None:
        self.state.work_in(self.inbound.workspace)

    @classmethod
    def begin(
        cls, state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> ActiveTurn:
        """A turn about to begin; it waits for the writes under way in its session."""
        turn = cls(new_id(), state, inbound, inbox_id, mode, inbound.model or state.model)
        turn._writes, state.pending.writes = state.pending.writes, []
        return turn

    @property
    def user_entry(self) -> Entry:
        """The message that began the turn."""
        return self.entries[0]

    def snapshot(self) -> Turn:
        """The turn so far, for hooks."""
        messages, results = tuple([entry.message for entry in self.entries]), tuple(self.results)
        reply, stop, session = self.outcome.reply, self.outcome.stop, self.state.record
        return Turn(
            self.id,
            session,
            self.inbound,
            messages,
            results,
            reply,
            self.usage,
            stop,
            self.iterations,
        )

    def make_reply(self, text: str, question: Question | None) -> Reply:
        """The reply to the turn's message; ``question`` is the one it ends in.

        It goes to the chat that the message came from, whichever chat the session belongs to.
        """
        inbound = self.inbound
        session = replace(self.state.record, channel=inbound.channel, chat_id=inbound.chat_id)
        reply = Reply(
            session,
            text,
            in_reply_to=inbound.message_id,
            id=f"{self.id}-reply",
            thread=inbound.thread,
            person=inbound.user_id,
        )
        return replace(reply, choices=question.choices, kind="question") if question else reply

    def append(self, message: Message) -> Entry:
        """Append a message to the turn and the history."""
        entry = self.state.append(self.id, message)
        self.entries.append(entry)
        return entry

    def finish_call(self, journal: Journal, result: ToolResult) -> None:
        """Keep a call's result and begin to store it."""
        self.finished[result.call.id] = result
        asked = question_to_json(result.data) if isinstance(result.data, Question) else None
        self.track_write(journal.finish_step(self.id, self.state.record.id, result, asked))

    def track_write(self, write: Awaitable[Any]) -> None:
        """Remember a write that is under way; :meth:`flush` awaits it."""
        self._writes.append(write)

    async def flush(self) -> None:
        """Wait until every write so far is committed.

        Raises the first error, at this call and every later one: a turn that has lost a step is
        not continued.
        """
        writes, self._writes = self._writes, []
        for write in writes:
            try:
                await write
            except Exception as error:
                self._lost = self._lost or error
        if self._lost is not None:
            raise self._lost

    async def pass_point(self, point: str) -> None:
        """Pass a crash point; a process that dies here has stored everything so far."""
        if crash.armed(point):
            await self.flush()
        crash.point(point)


async def set_question(journal: Journal, state: SessionState, question: Question | None) -> None:
    """Keep the question that the session's next message answers."""
    state.question, text = question, question_to_json(question)
    state.version = (*state.version[:-1], text)
    await journal.update_session("set_question", state.record.id, question=text)


def session_version(row: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """What tells whether another process has worked on a session."""
    names = ("updated", "turns", "ended", "model", "question")
    return tuple([row[name] for name in names]) if row is not None else ()


async def refresh_version(journal: Journal, state: SessionState) -> None:
    """Note what the store says after this process has changed the session."""
    state.version = session_version(await journal.session(state.record.id))
