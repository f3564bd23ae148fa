"""HTTP connections with a deadline for the request, against clients that send slowly or nothing.

uvicorn waits for headers without a limit, and answers 503 to all clients once there are too many
connections, so that idle clients could lock out all others.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_TIMEOUT_SECONDS = 10.0
"""Seconds for a request's headers, from the start of the connection or their first byte."""
MAX_INCOMPLETE_REQUESTS = 256
"""Connections with an incomplete request. One more closes the oldest, which is never a client that
sends without delay."""


class Connection(H11Protocol):
    """A connection that closes when its request takes too long.

    :func:`connection_class` makes a subclass for each server, which holds its connections.
    """

    _incomplete: dict[Connection, None]
    _max_incomplete: int
    _idle_seconds: float
    _timer: asyncio.TimerHandle | None = None
    _is_idle = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; close the oldest waiting connection if there are too many."""
        super().connection_made(transport)
        self._incomplete[self] = None
        self._start_timer(HEADER_TIMEOUT_SECONDS)
        if len(self._incomplete) > self._max_incomplete:
            next(iter(self._incomplete))._close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        self._incomplete.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read; once a client has begun to send, the deadline applies."""
        if self._is_idle:
            self._is_idle = False
            self._start_timer(HEADER_TIMEOUT_SECONDS)
        super().data_received(data)

    def handle_events(self) -> None:
        """Read; complete headers stop the deadline, a complete request stops the wait."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        if self.conn.their_state is not h11.IDLE and self.conn.their_state is not h11.SEND_BODY:
            self._incomplete.pop(self, None)

    def on_response_complete(self) -> None:
        """Wait for the next request if the connection stays open."""
        if not self.transport.is_closing():
            self._incomplete[self] = None
            self._is_idle = True
            self._start_timer(self._idle_seconds)
        super().on_response_complete()

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._incomplete.pop(self, None)
        self.transport.abort()


def connection_class(idle_seconds: float, max_incomplete: int) -> type[Connection]:
    """Return the class for the connections of one server."""
    members: dict[str, Any] = {
        "_incomplete": {},
        "_idle_seconds": idle_seconds,
        "_max_incomplete": max_incomplete,
    }
    return type("ServerConnection", (Connection,), members)
