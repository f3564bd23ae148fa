"""Open approvals: one for each chat at a time, and the ways in which it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hookline_hookspecs import Inbound, Question

from .grants import Scope

Chat = tuple[str, str]


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
    """The open approvals by chat; a second one of a chat waits until the first is answered."""

    def __init__(self) -> None:
        self._open: dict[Chat, Waiting] = {}
        self._queues: dict[Chat, asyncio.Lock] = {}
        self._queued: dict[Chat, int] = {}

    def open_in(self, chat: Chat) -> Waiting | None:
        """The chat's open approval."""
        return self._open.get(chat)

    @asynccontextmanager
    async def turn_of(self, chat: Chat) -> AsyncIterator[None]:
        """Wait until no other approval of the chat is open."""
        lock = self._queues.setdefault(chat, asyncio.Lock())
        self._queued[chat] = self._queued.get(chat, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._queued[chat] -= 1
            if not self._queued[chat]:
                del self._queues[chat], self._queued[chat]

    @asynccontextmanager
    async def opened(self, waiting: Waiting) -> AsyncIterator[None]:
        """Keep ``waiting`` open while the block runs."""
        self._open[waiting.scope.chat] = waiting
        try:
            yield
        finally:
            self._open.pop(waiting.scope.chat, None)
            waiting.answer.cancel()
