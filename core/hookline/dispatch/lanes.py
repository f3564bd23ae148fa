"""Lanes: the messages of one chat, judged one by one and then worked on one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hookline_hookspecs import Inbound

from ..sessions.state import SessionState


@dataclass(slots=True)
class Lane:
    """One chat's order of work.

    ``gate`` is held while a message is judged, ``turn`` while it is worked on; ``users`` counts
    the messages in the lane and ``queued`` those that wait for ``turn``; ``state`` is the session
    that is worked in now.
    """

    gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    queued: int = 0
    state: SessionState | None = None

    async def wait_for_turn(self) -> None:
        """Acquire ``turn`` in the order of the calls."""
        self.queued += 1
        try:
            await self.turn.acquire()
        finally:
            self.queued -= 1


class Lanes:
    """The lanes in use, by the session a message names or else by its chat."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}

    @contextmanager
    def enter(self, inbound: Inbound) -> Iterator[Lane]:
        """The lane of a message, for as long as the message is worked on."""
        key = _key(inbound)
        lane = self._lanes.setdefault(key, Lane())
        lane.users += 1
        try:
            yield lane
        finally:
            lane.users -= 1
            if not lane.users:
                self._lanes.pop(key, None)

    def get(self, inbound: Inbound) -> Lane | None:
        """The lane that a message would be in, if it is in use."""
        return self._lanes.get(_key(inbound))


def _key(inbound: Inbound) -> str:
    return inbound.session_id or f"{inbound.channel}\0{inbound.chat_id}"
