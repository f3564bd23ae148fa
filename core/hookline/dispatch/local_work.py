"""The default distribution of work: each process answers what its channels receive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from ..engine import Engine
from ..sessions.manager import WAIT_FOR_OWNER


class LocalWork:
    """Runs all work in this process (service ``WorkDistribution``)."""

    is_shared = False
    runs_turns_here = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def sends(self, channel: str) -> bool:
        """Return True: this process sends all replies."""
        return True

    def received(
        self, channel: str, chat_id: str, answer: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Start processing the message."""
        self._engine.background.start(answer())

    def replied(self, channel: str, chat_id: str) -> None:
        """Do nothing: no other process sends replies."""

    async def finish_left_over(self, finish: Callable[[], Awaitable[object]]) -> None:
        """Finish the work in this process, while holding a lock in the store.

        Two processes at once would each claim some of a chat's messages and answer them out of
        order.
        """
        async with self._engine.store.own("recovery", WAIT_FOR_OWNER, "Unfinished work"):
            await finish()

    async def serve(self, turns: bool) -> None:
        """Do nothing: there are no other processes."""

    async def hold(self, channel: str) -> None:
        """Do nothing: only this process runs the channel."""
