"""Several sockets: renewed before they end, and after they have ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hookline_channelkit import CannotStart, SocketEvent, SocketPool

from .conftest import until


class Socket:
    """Yields the given messages until it is closed."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[str | None] = asyncio.Queue()
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[str]:
        while (message := await self.messages.get()) is not None:
            yield message

    async def close(self) -> None:
        self.is_closed = True


class Receive:
    def __init__(self) -> None:
        self.gaps = 0

    def heartbeat(self) -> None:
        pass

    def reconnected(self) -> None:
        self.gaps += 1


class TwoSockets:
    """Two sockets, and what they have said."""

    def __init__(self) -> None:
        self.made: list[Socket] = []
        self.received: list[str] = []
        self.receive: Any = Receive()
        self.fault: Exception | None = None
        host: Any = SimpleNamespace(
            spawn=lambda work, _name: asyncio.ensure_future(work), log=logging.getLogger("sockets")
        )
        self.sockets = SocketPool(host, self.make, self.hear)

    async def make(self) -> Socket:
        if self.fault is not None:
            raise self.fault
        self.made.append(Socket())
        self.made[-1].messages.put_nowait("open")
        return self.made[-1]

    def hear(self, _socket: Socket, message: str) -> SocketEvent | None:
        self.received.append(message)
        known: dict[str, SocketEvent] = {
            "open": SocketEvent.OPENED,
            "renew": SocketEvent.REPLACE,
            "over": SocketEvent.ENDED,
        }
        return known.get(message)

    async def has(self, so: Callable[[], bool]) -> None:
        await until(so)


async def test_replaced_socket_is_read_until_the_next_is_open() -> None:
    pool = TwoSockets()
    await pool.sockets.start(pool.receive, 60.0)
    await pool.has(lambda: len(pool.made) == 2)
    pool.made[0].messages.put_nowait("renew")
    await pool.has(lambda: len(pool.made) == 3)
    pool.made[0].messages.put_nowait("late")
    pool.made[2].messages.put_nowait("new")
    await pool.has(lambda: {"late", "new"} <= set(pool.received))
    assert pool.receive.gaps == 0
    await pool.sockets.stop()
    assert not pool.sockets.is_open
    assert all(one.is_closed for one in pool.made)


@pytest.mark.parametrize("end", ["over", None])
async def test_ended_socket_reports_a_gap(end: str | None) -> None:
    pool = TwoSockets()
    await pool.sockets.start(pool.receive, 60.0)
    await pool.has(lambda: len(pool.made) == 2)
    pool.made[0].messages.put_nowait(end)
    await pool.has(lambda: len(pool.made) == 3)
    assert pool.receive.gaps == 1
    assert pool.made[0].is_closed
    await pool.sockets.stop()


async def test_socket_pool_raises_cannot_start() -> None:
    pool = TwoSockets()
    pool.fault = CannotStart("the token is unknown")
    with pytest.raises(CannotStart, match="the token is unknown"):
        await pool.sockets.start(pool.receive, 60.0)
    assert pool.made == []


async def test_socket_pool_starts_without_a_network() -> None:
    pool = TwoSockets()
    pool.fault = ConnectionError("no network")
    await pool.sockets.start(pool.receive, 0.05)
    assert not pool.sockets.is_open
    pool.fault = None
    await pool.has(lambda: pool.sockets.is_open)
    await pool.sockets.stop()
