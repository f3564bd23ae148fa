"""A session in memory: its frozen prompt, its history and what is running in it."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import ContextBlock, Inbound, Message, Paths, Question, Session

from .. import clock
from ..sessions.prompt import StablePrompt

if TYPE_CHECKING:
    from pathlib import Path

    from ..sessions.active_turn import Running


@dataclass(slots=True)
class Entry:
    """A message of the history, where it is stored and the turn it belongs to.

    ``turn_id`` is empty for what stands for the messages of several turns.
    """

    seq: int
    turn_id: str
    message: Message


@dataclass(slots=True)
class SessionState:
    """Everything about one session in this process.

    ``model`` is empty where the session follows the config. ``version`` is what the store said
    when the history was read; another process that has worked on the session since leaves another
    one. ``writes`` are under way; the next turn waits for them. A turn of a fork ends after
    ``max_iterations`` model calls, without the last answer that the config's limit still asks for.
    """

    record: Session
    stable: StablePrompt
    model: str
    workspace: Path
    history: list[Entry] = field(default_factory=list)
    version: tuple[Any, ...] = ()
    last_used: float = 0.0
    summary: str | None = None
    question: Question | None = None
    running: Running | None = None
    steering: list[str] = field(default_factory=list)
    strikes: dict[str, int] = field(default_factory=dict)
    off: set[str] = field(default_factory=set)
    stashes: dict[str, dict[str, Any]] = field(default_factory=dict)
    prefix: dict[str, Any] = field(default_factory=dict)
    started: bool = False
    recovered: bool = False
    frozen: bool = False
    paths: Paths | None = None
    retry: Inbound | None = None
    unshown: list[Mapping[str, Any]] = field(default_factory=list)
    writes: list[Awaitable[Any]] = field(default_factory=list)
    creating: tuple[str, Mapping[str, Any]] | None = None
    told_date: str | None = None
    told_workspace: str | None = None
    next_seq: int = 1
    warm_until: float = 0.0
    max_iterations: int | None = None

    def append(self, turn_id: str, message: Message) -> Entry:
        """Add a message to the history."""
        entry = Entry(self.next_seq, turn_id, message)
        self.next_seq += 1
        self.history.append(entry)
        return entry

    def messages(self) -> tuple[Message, ...]:
        """The history as it is sent."""
        return tuple([entry.message for entry in self.history])


def session_version(row: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """What tells whether another process has worked on a session."""
    names = ("updated", "turns", "ended", "model", "question")
    return tuple([row[name] for name in names]) if row is not None else ()


def notices(state: SessionState) -> tuple[ContextBlock, ...]:
    """What has changed since the prompt was frozen, told in the turn's context, once."""
    lines = []
    if state.summary and not state.history:
        lines.append(f"Summary of the conversation before this one: {state.summary}")
    today = clock.today()
    began = date.fromtimestamp(state.record.created).isoformat()
    if (state.told_date or began) != today:
        lines.append(f"The date is now {today}.")
    state.told_date = today
    if state.told_workspace != str(state.workspace):
        lines.append(f"The workspace is now {state.workspace}.")
        state.told_workspace = str(state.workspace)
    return (ContextBlock("notices", "\n".join(lines)),) if lines else ()
