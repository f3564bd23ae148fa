"""Keeps several sockets of one account open, so that one can be replaced without a gap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from enum import Enum
from typing import Any, Protocol, TypeVar

from hookline_hookspecs import Host

from .base_clients import PollLoop
from .errors import PlatformError
from .events import ReceiveCallback
from .problems import LogOnce

REPLACED_SOCKET_SECONDS = 30.0
"""Seconds for which a socket is still read after the platform has asked to replace it."""


class Socket(Protocol):
    """A connection that yields messages until it ends."""

    def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the messages."""

    async def close(self) -> Any:
        """Close it."""


class SocketEvent(Enum):
    """What a message says about its socket."""

    OPENED = "the socket receives"
    REPLACE = "open another socket; this one ends some time later"
    ENDED = "the socket ends"


S = TypeVar("S", bound=Socket)


class SocketPool:
    """Keeps several sockets open.

    Args:
        host: the plugin's host.
        open_socket: opens a socket. Raises the kit's errors.
        handle: called with a socket and each of its messages, in order; returns what the message
            says about the socket, or None. It must not block: use :meth:`spawn` for work.
        count: number of sockets to keep open.
    """

    def __init__(
        self,
        host: Host,
        open_socket: Callable[[], Awaitable[S]],
        handle: Callable[[S, Any], SocketEvent | None],
        count: int = 2,
    ) -> None:
        self._host, self._open_socket, self._handle = host, open_socket, handle
        log_once = LogOnce(host.log)
        self._slots = [_Slot(self, log_once) for _ in range(count)]
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open: set[int] = set()
        self.receive: ReceiveCallback | None = None

    @property
    def is_open(self) -> bool:
        """Whether a socket receives."""
        return bool(self._open)

    async def start(self, receive: ReceiveCallback, seconds: float) -> None:
        """Open the sockets, and wait until one is open, at most ``seconds``.

        Opening is retried in the background. Raises :class:`CannotStart`.
        """
        self.receive = receive
        starts = [asyncio.ensure_future(slot.start(seconds)) for slot in self._slots]
        done, pending = await asyncio.wait(starts, return_when=asyncio.FIRST_COMPLETED)
        for start in pending:
            start.cancel()
        try:
            done.pop().result()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Close the sockets."""
        while tasks := set(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run work in the background, at most until :meth:`stop`."""
        task = self._host.spawn(work, name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def run_socket(self, slot: _Slot) -> None:
        """Open a socket; return when it must be replaced, raise when it has ended."""
        socket = await self._open_socket()
        assert self.receive is not None
        if slot.has_gap:
            self.receive.reconnected()
        slot.has_gap = True
        replace: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        reading = self.spawn(self._read(socket, slot, replace), "read socket")
        await asyncio.wait({reading, replace}, return_when=asyncio.FIRST_COMPLETED)
        if not replace.done():
            raise PlatformError("a socket has ended")
        slot.has_gap = False  # the old socket is read until after the new one is open
        asyncio.get_running_loop().call_later(REPLACED_SOCKET_SECONDS, reading.cancel)

    async def _read(self, socket: Any, slot: _Slot, replace: asyncio.Future[None]) -> None:
        assert self.receive is not None
        try:
            async for message in socket:
                self.receive.heartbeat()
                event = self._handle(socket, message)
                if event is SocketEvent.OPENED:
                    self._open.add(id(socket))
                    slot.poll_loop.mark_receiving()
                elif event is SocketEvent.REPLACE and not replace.done():
                    replace.set_result(None)
                elif event is SocketEvent.ENDED and not replace.done():
                    break
        finally:
            self._open.discard(id(socket))
            await socket.close()


class _Slot:
    """Opens one socket after the other.

    ``has_gap``: the last one was not replaced in time, so messages may have been missed.
    """

    def __init__(self, pool: SocketPool, log_once: LogOnce) -> None:
        self._pool = pool
        self.poll_loop = PollLoop(lambda: pool.run_socket(self), log_once)
        self.has_gap = False

    async def start(self, seconds: float) -> None:
        """Wait until a socket is open, at most ``seconds``. Raises :class:`CannotStart`."""
        self.has_gap = False
        self.poll_loop.start(self._pool.spawn)
        await self.poll_loop.wait_started(seconds)
