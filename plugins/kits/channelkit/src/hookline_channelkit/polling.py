"""A loop that receives by asking again and again, or by a socket that it opens again and again."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import ClassVar

from hookline_hookspecs import Host

from .arrivals import Take
from .complaints import Complaints
from .config import ChannelConfig
from .errors import CannotStart, Refused, RetryAfter, WireError
from .listening import ListeningWire

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds after a failure; they double."""


class Polling:
    """Receives until it is cancelled; trouble is told once, and waited out.

    Args:
        once: receives once: one request for news, or one socket to its end. After an error that is
            a :class:`RetryAfter` it is called again when that says, after a :class:`CannotStart`
            or :class:`Refused` in half a minute, and after any other soon, then less and less
            often.
        complaints: where trouble is told.
    """

    def __init__(self, once: Callable[[], Awaitable[None]], complaints: Complaints) -> None:
        self._once, self._complaints = once, complaints
        self._wait = FIRST_WAIT
        self._begun = asyncio.Event()
        self._fault: CannotStart | None = None

    def start(self, spawn: Callable[..., asyncio.Task[None]]) -> asyncio.Task[None]:
        """Begin anew, in the background; the task is to be cancelled."""
        self._wait, self._fault = FIRST_WAIT, None
        self._begun.clear()
        return spawn(self._run(), "receive")

    async def _run(self) -> None:
        while True:
            try:
                await self._once()
            except Exception as error:
                self.tell(f"not receiving: {error or type(error).__name__}")
                if isinstance(error, RetryAfter):
                    self._wait = error.retry_after
                elif isinstance(error, CannotStart | Refused):
                    self._wait = LONGEST_WAIT
                if isinstance(error, CannotStart):
                    self._fault = error
                    self._begun.set()
                await asyncio.sleep(self._wait)
                self._wait = min(max(self._wait, FIRST_WAIT) * 2, LONGEST_WAIT)
            else:
                self.receiving()

    def receiving(self) -> None:
        """All is well: what comes next is received. To be called by a socket that has opened."""
        self._wait, self._fault = FIRST_WAIT, None
        self._begun.set()
        self._complaints.over("receiving again")

    def tell(self, trouble: str) -> None:
        """Log what is wrong, once until all is well again."""
        self._complaints.tell(trouble)

    async def begun(self, seconds: float) -> None:
        """Return when something is received for the first time, or after that time. Raises the
        :class:`CannotStart` that stands against it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._begun.wait()
        if self._fault is not None:
            raise self._fault


class PollingWire(ListeningWire):
    """A wire that receives by :meth:`once`, again and again. A subclass writes that, ``whoami``,
    and what a wire sends.

    Attributes:
        polling: calls :meth:`once`; a wire with sockets tells it when one has opened.
    """

    begins_within: ClassVar[float] = 0.0
    """Seconds that :meth:`connect` waits for ``polling.receiving()``, and for what stands against
    it; 0 for a wire that needs no more than a greeting."""
    _receiving: asyncio.Task[None] | None = None

    def __init__(self, host: Host, config: ChannelConfig | None = None) -> None:
        super().__init__(host, config)
        self.polling = Polling(self._once, Complaints(host.log))

    @abstractmethod
    async def once(self, take: Take) -> None:
        """Receive once; see :class:`Polling`."""

    async def _once(self) -> None:
        assert self.take is not None
        await self.once(self.take)

    @abstractmethod
    async def whoami(self) -> str:
        """Who the token belongs to. Raises :class:`CannotStart` if the platform knows it not."""

    async def listen(self, take: Take) -> None:
        """Begin to receive."""
        self._receiving = self.polling.start(self.host.spawn)
        try:
            await self.polling.begun(self.begins_within)
        except CannotStart:
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        """Receive no more."""
        receiving, self._receiving = self._receiving, None
        if receiving is not None:
            receiving.cancel()
            await asyncio.wait({receiving})

    async def probe(self) -> None:
        """Ask who the bot is. Raises if the platform does not say so, or if nobody receives."""
        if self._receiving is None or self._receiving.done():
            raise WireError("nobody receives")
        await self.whoami()
