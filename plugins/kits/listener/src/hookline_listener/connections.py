"""Connections that send slowly, or nothing: they are few, and they do not stay.

uvicorn waits for a request's headers as long as it takes, and answers 503 to everybody once there
are too many connections. Whoever opens those and says nothing would keep all others out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""For the headers of a request, from the connection's first moment or their first byte on."""
MOST_WAITING = 256
"""Connections whose request is not whole. One more, and the oldest of them is hung up on: a sender
that sends at once is never the oldest for long."""


class Connection(H11Protocol):
    """A connection that has to say something soon. A subclass of its own, made by
    :func:`connections`, holds those of one server."""

    _waiting: dict[Connection, None]
    _most_waiting: int
    _idle_seconds: float
    _timer: asyncio.TimerHandle | None = None
    _is_idle = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; of too many that wait the oldest goes."""
        super().connection_made(transport)
        self._waiting[self] = None
        self._arm(HEAD_SECONDS)
        if len(self._waiting) > self._most_waiting:
            next(iter(self._waiting))._hang_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._disarm()
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read; who has begun to send has to go on."""
        if self._is_idle:
            self._is_idle = False
            self._arm(HEAD_SECONDS)
        super().data_received(data)

    def handle_events(self) -> None:
        """Read; headers that are whole stop the clock, a request that is whole waits no more."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._disarm()
        if self.conn.their_state is not h11.IDLE and self.conn.their_state is not h11.SEND_BODY:
            self._waiting.pop(self, None)

    def on_response_complete(self) -> None:
        """Wait for the next request, if the connection stays."""
        if not self.transport.is_closing():
            self._waiting[self] = None
            self._is_idle = True
            self._arm(self._idle_seconds)
        super().on_response_complete()

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self._hang_up)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self) -> None:
        self._waiting.pop(self, None)
        self.transport.abort()


def connections(idle_seconds: float, most_waiting: int) -> type[Connection]:
    """Return the class of one server's connections."""
    members: dict[str, Any] = {
        "_waiting": {},
        "_idle_seconds": idle_seconds,
        "_most_waiting": most_waiting,
    }
    return type("ServersConnection", (Connection,), members)
