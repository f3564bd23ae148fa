"""A loop that receives by asking again and again, or by a socket that it opens again and again."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable

from hookline_hookspecs import HooklineError, Host

from .arrivals import Take
from .complaints import Complaints
from .errors import CannotStart, Refused, RetryAfter, WireError
from .wire import Wire

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds after a failure; they double."""
CONNECT_SECONDS = 10.0
"""For the platform's first word; without it receiving begins all the same."""


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


class PollingWire(Wire):
    """A wire that receives by :meth:`once`, again and again. A subclass writes that, ``whoami``,
    and what a wire sends.

    Args:
        host: the plugin's host.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self._receiving: asyncio.Task[None] | None = None

    @abstractmethod
    async def once(self, take: Take) -> None:
        """Receive once; see :class:`Polling`."""

    @abstractmethod
    async def whoami(self) -> str:
        """Who the token belongs to. Raises :class:`CannotStart` if the platform knows it not."""

    async def connect(self, take: Take) -> None:
        """Begin to receive. Raises :class:`CannotStart` for a token that the platform does not
        know; without a network it begins, and goes on as soon as there is one."""
        await self.disconnect()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self.whoami()
        except CannotStart:
            raise
        except (HooklineError, OSError) as error:
            self.host.log.warning("beginning without the platform: %s", error or "no answer")
        polling = Polling(lambda: self.once(take), self.host.log)
        self._receiving = self.host.spawn(polling.run(), "receive")

    async def disconnect(self) -> None:
        """Receive no more."""
        receiving, self._receiving = self._receiving, None
        if receiving is not None:
            receiving.cancel()
            await asyncio.wait({receiving})

    async def aclose(self) -> None:
        """Receive no more; a subclass closes its connections besides."""
        await self.disconnect()

    async def probe(self) -> None:
        """Ask who the bot is. Raises if the platform does not say so, or if nobody receives."""
        if self._receiving is None or self._receiving.done():
            raise WireError("nobody asks for news")
        await self.whoami()
