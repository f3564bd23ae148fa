"""A loop that receives by asking again and again, or by a socket that it opens again and again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from .complaints import Complaints
from .errors import CannotStart, Refused, RetryAfter

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds after a failure; they double."""


class Polling:
    """Receives until it is cancelled; trouble is told once, and waited out.

    Args:
        once: receives once: one request for news, or one socket to its end. After an error that is
            a :class:`RetryAfter` it is called again when that says, after a :class:`CannotStart`
            or :class:`Refused` in half a minute, and after any other soon, then less and less
            often.
        log: where trouble is told.
    """

    def __init__(self, once: Callable[[], Awaitable[None]], log: logging.Logger) -> None:
        self._once = once
        self._complaints = Complaints(log)

    async def run(self) -> None:
        """Receive."""
        wait = FIRST_WAIT
        while True:
            try:
                await self._once()
            except Exception as error:
                self._complaints.tell(f"not receiving: {error or type(error).__name__}")
                if isinstance(error, RetryAfter):
                    wait = error.retry_after
                elif isinstance(error, CannotStart | Refused):
                    wait = LONGEST_WAIT
                await asyncio.sleep(wait)
                wait = min(max(wait, FIRST_WAIT) * 2, LONGEST_WAIT)
            else:
                wait = FIRST_WAIT
                self._complaints.over("receiving again")
