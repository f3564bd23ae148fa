"""Open approvals: one for each conversation at a time, and the ways in which it is answered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hookline_hookspecs import Inbound, Question

from .grants import Scope

Place = tuple[str, str, str]
"""Channel, chat id and conversation; the latter is empty where the chat has only one."""
_SUCCESSOR = re.compile(r"~\d+$")


def place(chat: tuple[str, str], session_id: str | None) -> Place:
    """Return the conversation of a message that names a session, or names none. A session leads to
    its successors, so they are one conversation."""
    return *chat, _SUCCESSOR.sub("", session_id or "")


@dataclass(slots=True, eq=False)
class Waiting:
    """A question that waits for its answer.

    ``written`` says that it goes into the chat, so that messages answer it; ``delivered`` is when
    it was there to be read (Unix time in seconds), None before that, and ``messages`` are its ids.
    """

    scope: Scope
    question: Question
    written: bool = False
    delivered: float | None = None
    messages: set[str] = field(default_factory=set)
    asked_again: bool = False
    answer: asyncio.Future[str] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def place(self) -> Place:
        """The conversation in which it is open."""
        return place(self.scope.chat, self.scope.named)

    def is_read_by(self, inbound: Inbound) -> bool:
        """False for a message that was on its way before the question was delivered. What presses
        a button of it, or quotes it, has seen it."""
        if self.delivered is None:
            return False
        return inbound.reply_to in self.messages or not 0 < inbound.received < self.delivered

    def settle(self, choice: str) -> None:
        """Answer it; the first answer counts."""
        if not self.answer.done():
            self.answer.set_result(choice)


class Desk:
    """The open approvals by conversation; a second one there waits until the first is answered."""

    def __init__(self) -> None:
        self._open: dict[Place, Waiting] = {}
        self._queues: dict[Place, asyncio.Lock] = {}
        self._queued: dict[Place, int] = {}

    def open_in(self, where: Place) -> Waiting | None:
        """The conversation's open approval."""
        return self._open.get(where)

    def open_of(self, session_id: str) -> Waiting | None:
        """The open approval of a session's turn, whatever message began that."""
        return next(
            (one for one in self._open.values() if one.scope.session_id == session_id), None
        )

    @asynccontextmanager
    async def turn_of(self, where: Place) -> AsyncIterator[None]:
        """Wait until no other approval of the conversation is open."""
        lock = self._queues.setdefault(where, asyncio.Lock())
        self._queued[where] = self._queued.get(where, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._queued[where] -= 1
            if not self._queued[where]:
                del self._queues[where], self._queued[where]

    @asynccontextmanager
    async def opened(self, waiting: Waiting) -> AsyncIterator[None]:
        """Keep ``waiting`` open while the block runs."""
        self._open[waiting.place] = waiting
        try:
            yield
        finally:
            self._open.pop(waiting.place, None)
            waiting.answer.cancel()
