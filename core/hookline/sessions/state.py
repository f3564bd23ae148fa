"""A session's state in memory, and its running turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hookline_hookspecs import Failure, Inbound, Question, Reply, Usage, crash
from hookline_hookspecs.channels import TERMINAL
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

MAX_TOOL_THREADS = 8
"""Maximum number of synchronous tools that a session runs at the same time."""


@dataclass(slots=True)
class HistoryEntry:
    """A message of the history with its number in the store and its turn.

    ``turn_id`` is empty for a message that replaces messages of several turns.
    """

    seq: int
    turn_id: str
    message: Message


@dataclass(slots=True)
class SessionCache:
    """Data about a session that only this process has.

    ``prefix`` is the last sent prefix by model. ``stashes`` belong to the plugins. ``failures`` are
    consecutive failures by plugin, ``stored_failures`` those that the store has, and ``disabled``
    the plugins that are off for the session.
    """

    prefix: dict[str, Any] = field(default_factory=dict)
    stashes: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    stored_failures: Mapping[str, int] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    paths: Paths | None = None


@dataclass(slots=True)
class SessionFlags:
    """What has happened to a session in this process.

    ``announced``: ``start_of_session`` was called. ``recovered``: the unfinished work of other
    processes is done. ``frozen``: the first request has been sent. ``date`` and ``workspace`` are
    the ones that the model was last given. ``workspace_missing``: they were told that the workspace
    does not exist. ``folder_checked``: someone was asked whether the workspace may be trusted,
    where that is needed. ``open_choices``: a reply that ended with a question may still be open.
    """

    announced: bool = False
    recovered: bool = False
    folder_checked: bool = False
    frozen: bool = False
    open_choices: bool = True
    date: str | None = None
    workspace: str | None = None
    workspace_missing: bool = False


@dataclass(slots=True)
class PendingWork:
    """Work for the session's next step, turn or reply.

    ``steering`` are texts for the running turn. ``rerun`` is run as a turn after the current
    command. ``undelivered`` are stored replies that were not shown yet. ``writes`` are not
    committed yet. ``creating`` stores a new session together with its first turn.
    """

    steering: list[TextBlock] = field(default_factory=list)
    rerun: Inbound | None = None
    undelivered: list[Mapping[str, Any]] = field(default_factory=list)
    writes: list[Awaitable[Any]] = field(default_factory=list)
    creating: Statement | None = None


@dataclass(slots=True, weakref_slot=True, eq=False)
class SessionState:
    """A session in this process.

    ``model`` is empty if the session follows the config. ``version`` is the store's version of the
    session (see :func:`session_version`) when the history was read. ``inherited`` are the origins
    of ``summary``, until the first turn has it in its message. ``warm_until`` is the Unix time in
    seconds at which the provider's cache expires.
    """

    record: Session
    stable: StablePrompt
    model: str
    workspace: Path
    summary: str | None = None
    inherited: tuple[Origin, ...] = ()
    question: Question | None = None
    history: list[HistoryEntry] = field(default_factory=list)
    next_seq: int = 1
    version: tuple[Any, ...] = ()
    last_used: float = 0.0
    warm_until: float = 0.0
    active: ActiveTurn | None = None
    cache: SessionCache = field(default_factory=SessionCache)
    flags: SessionFlags = field(default_factory=SessionFlags)
    pending: PendingWork = field(default_factory=PendingWork)
    threads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_TOOL_THREADS))

    def append(self, turn_id: str, message: Message) -> HistoryEntry:
        """Append a message to the history."""
        entry = HistoryEntry(self.next_seq, turn_id, message)
        self.next_seq += 1
        self.history.append(entry)
        return entry

    def messages(self) -> tuple[Message, ...]:
        """The history, as it is sent to the model."""
        return tuple([entry.message for entry in self.history])

    def origins(self) -> tuple[Origin, ...]:
        """The origins of the history and of the running turn's results."""
        read = [result.origins for result in self.active.finished.values()] if self.active else []
        return merge_origins(
            self.inherited, *[entry.message.origins for entry in self.history], *read
        )

    def work_in(self, folder: Path | None) -> None:
        """Make ``folder`` the workspace, unless it is None."""
        if folder is not None and folder != self.workspace:
            self.workspace, self.cache.paths = folder, None

    def take_steering(self) -> list[TextBlock]:
        """Return and clear the texts for the running turn."""
        texts, self.pending.steering = self.pending.steering, []
        return texts


@dataclass(slots=True)
class Outcome:
    """The result of a turn; ``stop`` is empty until it has ended.

    ``claimed`` is the stored row of the reply if this process sends it from memory. ``partial`` is
    what the model had said before the ``error``.
    """

    reply: str = ""
    partial: str = ""
    question: Question | None = None
    stop: Stop = ""
    error: Failure | None = None
    sent: Reply | None = None
    claimed: Mapping[str, Any] | None = None


@dataclass(slots=True)
class ActiveTurn:
    """A running turn. ``finished`` holds the results of the newest response's calls.

    ``mode`` says how an ``Ask`` is answered: ``ask`` by asking a person, ``yes`` by approving, and
    ``no`` by refusing, because no one can be asked. ``max_calls`` limits the model calls; 0 follows
    the config. ``streamed`` are the received pieces of the current response; "" stands for a piece
    that is not text. ``direct`` is True if the caller delivers the reply as soon as the turn ends.
    ``left_over`` is True if another process left the turn or its message unfinished: the process
    that runs the channel then sends the reply.

    ``asker`` is the user id of the person that the turn works for. ``caller_waits`` is True if a
    program waits for the end of the turn. ``parked`` is True once the turn was given up until a
    question is answered. ``asked`` is True if the turn has stored questions.

    ``parks_with_caller`` is True for a sub-agent's turn whose caller is parked with it and calls it
    again later. ``waiting_turn`` is the id of the turn that waits for this turn's questions: itself
    or, for a sub-agent, the turn that called it.
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
    asker: str = ""
    caller_waits: bool = False
    parked: bool = False
    asked: bool = False
    parks_with_caller: bool = False
    waiting_turn: str = ""
    blocks: tuple[ContextBlock, ...] = ()
    entries: list[HistoryEntry] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)
    finished: dict[str, ToolResult] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    iterations: int = 0
    continued: int = 0
    outcome: Outcome = field(default_factory=Outcome)
    stashes: dict[str, Stash] = field(default_factory=dict)
    task: asyncio.Task[Any] | None = None
    stopping: bool = False
    _writes: list[Awaitable[Any]] = field(default_factory=list)
    _lost: BaseException | None = None

    def __post_init__(self) -> None:
        self.state.work_in(self.inbound.workspace)
        self.asker = self.asker or self.inbound.user_id
        self.waiting_turn = self.waiting_turn or self.id

    @classmethod
    def begin(
        cls, state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> ActiveTurn:
        """Start a turn. Its first flush also awaits the session's pending writes."""
        turn = cls(new_id(), state, inbound, inbox_id, mode, inbound.model or state.model)
        turn._writes, state.pending.writes = state.pending.writes, []
        return turn

    @property
    def can_park(self) -> bool:
        """True if the turn can be given up until a question is answered, and then resumed.

        Not in the terminal, where the person is.
        """
        is_resumed = self.state.record.kind == "chat" or self.parks_with_caller
        return is_resumed and not self.caller_waits and self.inbound.channel != TERMINAL

    @property
    def user_entry(self) -> HistoryEntry:
        """The message that started the turn."""
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
            self.continued,
        )

    def make_reply(self, text: str, question: Question | None) -> Reply:
        """The reply to the turn's message, with the ``question`` that it ends with, if any.

        It goes to the chat that the message came from, even if the session belongs to another.
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

    def append(self, message: Message) -> HistoryEntry:
        """Append a message to the turn and the history."""
        entry = self.state.append(self.id, message)
        self.entries.append(entry)
        return entry

    def finish_call(self, journal: Journal, result: ToolResult) -> None:
        """Keep a call's result and start storing it."""
        self.finished[result.call.id] = result
        question = question_to_json(result.data) if isinstance(result.data, Question) else None
        self.track_write(journal.finish_step(self.id, self.state.record.id, result, question))

    def track_write(self, write: Awaitable[Any]) -> None:
        """Remember a submitted write; :meth:`flush` awaits it."""
        self._writes.append(write)

    async def flush(self) -> None:
        """Wait until all writes so far are committed.

        If a write failed, this call and all later ones raise its error, because a turn that lost a
        step cannot continue.
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
        """Pass a crash point. If a test kills the process here, all writes are stored first."""
        if crash.armed(point):
            await self.flush()
        crash.point(point)


async def set_question(journal: Journal, state: SessionState, question: Question | None) -> None:
    """Set the question that the session's next message answers; None for none."""
    text = question_to_json(question)
    state.question = question
    state.version = (*state.version[:-1], text)
    await journal.update_session("set_question", state.record.id, question=text)


def session_version(row: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """The fields of a row that change whenever a process works on the session."""
    names = ("updated", "turns", "ended", "model", "question")
    return tuple([row[name] for name in names]) if row is not None else ()


async def refresh_version(journal: Journal, state: SessionState) -> None:
    """Read the store's version again after this process has changed the session."""
    state.version = session_version(await journal.session(state.record.id))
