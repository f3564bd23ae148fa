"""Lanes: the messages of one chat are checked one by one, then run one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from hookline_hookspecs import Inbound

from ..sessions.state import SessionState


@dataclass(slots=True, weakref_slot=True, eq=False)
class Lane:
    """The locks that keep one chat's messages in order.

    ``gate`` is held while a message is checked, ``turn`` while it runs. ``queued`` is the number of
    messages that wait for ``turn``. ``state`` is the session in which a message runs now.
    """

    gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    queued: int = 0
    state: SessionState | None = None
    waiting_task: asyncio.Task[object] | None = None
    """The task that waits for the session, which another process may own."""
    is_cancelled: bool = False

    def cancel_wait(self) -> bool:
        """Cancel the wait for the session; False if no task is waiting."""
        if self.waiting_task is None or self.is_cancelled:
            return False
        self.is_cancelled = True
        return self.waiting_task.cancel()

    @asynccontextmanager
    async def take_turn(self) -> AsyncIterator[None]:
        """Wait for ``turn`` in the order of the calls, and hold it in the context."""
        self.queued += 1
        try:
            await self.turn.acquire()
        finally:
            self.queued -= 1
        try:
            yield
        finally:
            self.turn.release()


class Lanes:
    """The lanes in use, by the session that a message names or else by its chat."""

    def __init__(self) -> None:
        self._lanes: WeakValueDictionary[str, Lane] = WeakValueDictionary()

    def of(self, inbound: Inbound) -> Lane:
        """The lane of a message; it exists as long as it is referenced."""
        key = inbound.session_id or f"{inbound.channel}\0{inbound.chat_id}"
        return self._lanes.setdefault(key, Lane())
