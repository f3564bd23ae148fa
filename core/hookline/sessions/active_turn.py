"""A turn under way: what it has said and done so far, and what it still waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Message, Question, Reply, Stash, ToolResult, Turn, Usage, crash
from hookline_hookspecs.events import ContextBlock, Failure, Inbound, Stop

from ..store.journal import new_id
from ..store.questions import question_to_json

if TYPE_CHECKING:
    from ..sessions.state import Entry, SessionState
    from ..store.journal import Journal


@dataclass(slots=True)
class Running:
    """A turn under way. ``finished`` holds the results of the newest response's calls."""

    id: str
    state: SessionState
    inbound: Inbound
    inbox_id: str | None
    mode: str
    model: str
    blocks: tuple[ContextBlock, ...] = ()
    entries: list[Entry] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    finished: dict[str, ToolResult] = field(default_factory=dict)
    unsettled: list[Awaitable[Any]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    reply: str = ""
    question: Question | None = None
    stop: Stop = ""
    error: Failure | None = None
    iterations: int = 0
    sent: Reply | None = None
    stashes: dict[str, Stash] = field(default_factory=dict)
    task: asyncio.Task[Any] | None = None
    stopping: bool = False
    lost: BaseException | None = None

    @property
    def user_entry(self) -> Entry:
        """The message that began the turn."""
        return self.entries[0]

    def snapshot(self) -> Turn:
        """The turn so far, for hooks."""
        return Turn(
            id=self.id,
            session=self.state.record,
            inbound=self.inbound,
            messages=tuple([entry.message for entry in self.entries]),
            tool_calls=tuple(self.results),
            reply=self.reply,
            usage=self.usage,
            stop=self.stop,
            iterations=self.iterations,
        )

    def say(self, message: Message) -> Entry:
        """Add a message to the turn and the history."""
        entry = self.state.append(self.id, message)
        self.entries.append(entry)
        return entry

    def finish(self, journal: Journal, result: ToolResult) -> None:
        """A call has its result; the journal hears of it now and is waited for later."""
        self.finished[result.call.id] = result
        asked = question_to_json(result.data) if isinstance(result.data, Question) else None
        self.later(journal.finish_step(self.id, self.state.record.id, result, asked))

    def later(self, write: Awaitable[Any]) -> None:
        """A write that is under way; :meth:`settle` waits for it."""
        self.unsettled.append(write)

    async def settle(self) -> None:
        """Wait until every write so far is committed.

        Raises the first error, now and ever after: a turn that has lost a step is not continued.
        """
        writes, self.unsettled = self.unsettled, []
        for write in writes:
            try:
                await write
            except Exception as error:
                self.lost = self.lost or error
        if self.lost is not None:
            raise self.lost

    async def at(self, point: str) -> None:
        """Pass a crash point; a process that dies here dies with everything so far journalled."""
        if crash.armed(point):
            await self.settle()
        crash.point(point)


def new_turn(state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str) -> Running:
    """A turn that is about to begin."""
    running = Running(new_id(), state, inbound, inbox_id, mode, inbound.model or state.model)
    running.unsettled, state.writes = state.writes, []
    return running
