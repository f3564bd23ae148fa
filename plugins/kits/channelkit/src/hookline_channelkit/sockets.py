"""Several sockets of one account: what one misses while it is renewed, another receives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from enum import Enum
from typing import Any, Protocol, TypeVar

from hookline_hookspecs import Host

from .arrivals import Take
from .complaints import Complaints
from .errors import WireError
from .polling import Polling

LINGER = 30.0
"""Seconds that a socket is listened to after the platform has asked for another."""


class Socket(Protocol):
    """A connection that messages come from, until it ends."""

    def __aiter__(self) -> AsyncIterator[Any]:
        """The messages, as they come."""

    async def close(self) -> Any:
        """End it."""


class Says(Enum):
    """What a message says of the socket that it came through."""

    OPEN = "receives"
    RENEW = "another is to be opened, and this one ends some time after"
    OVER = "ends"


S = TypeVar("S", bound=Socket)


class Sockets:
    """Keeps them open.

    Args:
        host: the plugin's host.
        make: opens one. Raises the kit's errors.
        hear: gets a socket and a message of it, in order; what that says of the socket, if
            anything. It does not wait: what takes time it gives to :meth:`spawn`.
        count: how many there are.
    """

    def __init__(
        self,
        host: Host,
        make: Callable[[], Awaitable[S]],
        hear: Callable[[S, Any], Says | None],
        count: int = 2,
    ) -> None:
        self._host, self._make, self._hear = host, make, hear
        complaints = Complaints(host.log)
        self._lines = [_Line(self, complaints) for _ in range(count)]
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open: set[int] = set()
        self.take: Take | None = None

    @property
    def is_open(self) -> bool:
        """True if something is received."""
        return bool(self._open)

    async def start(self, take: Take, seconds: float) -> None:
        """Open the sockets; return when one is open, or after that time: then they are tried again
        and again. Raises :class:`CannotStart`."""
        self.take = take
        begun = [asyncio.ensure_future(line.start(seconds)) for line in self._lines]
        done, rest = await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
        for waiting in rest:
            waiting.cancel()
        try:
            done.pop().result()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Close them."""
        while tasks := set(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Have something done for as long as the sockets are there."""
        task = self._host.spawn(work, name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def once(self, line: _Line) -> None:
        """One socket, to its end, or until another is to be opened."""
        socket = await self._make()
        assert self.take is not None
        if line.has_gap:
            self.take.reconnected()
        line.has_gap = True
        renew: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        hearing = self.spawn(self._listen(socket, line, renew), "hear")
        await asyncio.wait({hearing, renew}, return_when=asyncio.FIRST_COMPLETED)
        if not renew.done():
            raise WireError("a socket has ended")
        line.has_gap = False  # the old one is listened to until the new one is there, and on
        asyncio.get_running_loop().call_later(LINGER, hearing.cancel)

    async def _listen(self, socket: Any, line: _Line, renew: asyncio.Future[None]) -> None:
        assert self.take is not None
        try:
            async for message in socket:
                self.take.heard()
                says = self._hear(socket, message)
                if says is Says.OPEN:
                    self._open.add(id(socket))
                    line.polling.receiving()
                elif says is Says.RENEW and not renew.done():
                    renew.set_result(None)
                elif says is Says.OVER and not renew.done():
                    break
        finally:
            self._open.discard(id(socket))
            await socket.close()


class _Line:
    """One socket after the other; with a gap, unless the last one was renewed in time."""

    def __init__(self, sockets: Sockets, complaints: Complaints) -> None:
        self._sockets = sockets
        self.polling = Polling(lambda: sockets.once(self), complaints)
        self.has_gap = False

    async def start(self, seconds: float) -> None:
        """Begin; return when one is open, or after that time. Raises :class:`CannotStart`."""
        self.has_gap = False
        self.polling.start(self._sockets.spawn)
        await self.polling.begun(seconds)
