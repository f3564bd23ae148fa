"""What listens: an ASGI application on uvicorn, in the event loop of the gateway.

Imported when a plugin begins to listen. The signals of the process stay the gateway's.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from .address import Address
from .connections import HEAD_SECONDS, MOST_WAITING, connections

STOP_SECONDS = 5
"""For requests under way when the server stops."""
MOST_AT_ONCE = 512
"""Connections and requests; above, uvicorn answers 503 and the sender comes back."""


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT belong to the gateway, which drains."""
        yield


class Listener:
    """A listening server.

    Args:
        app: the ASGI application; no lifespan events and no websockets are sent to it.
        most_at_once: connections and requests above which uvicorn answers 503; None for no limit.
        most_waiting: connections without a whole request, of which the oldest is hung up on.
        idle_seconds: for the next request on a connection that is kept open.
        options: more of ``uvicorn.Config``, such as ``ssl_certfile``.
    """

    def __init__(
        self,
        app: Any,
        *,
        most_at_once: int | None = MOST_AT_ONCE,
        most_waiting: int = MOST_WAITING,
        idle_seconds: float = HEAD_SECONDS,
        **options: Any,
    ) -> None:
        self._server = _Server(
            uvicorn.Config(
                app,
                http=connections(idle_seconds, most_waiting),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=most_at_once,
                timeout_graceful_shutdown=STOP_SECONDS,
                timeout_keep_alive=max(1, int(idle_seconds)),
                **options,
            )
        )
        self._task: asyncio.Task[None] | None = None
        self._listening: socket.socket | None = None

    async def start(self, address: Address) -> Address:
        """Listen; return where, once requests are answered. Raises ``OSError`` with a sentence."""
        listening = self._listening = _bound(address)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started:
            if self._task.done():
                listening.close()
                self._task.result()
                raise OSError("the server ended at once")
            await asyncio.sleep(0.01)
        return Address(address.host, listening.getsockname()[1])

    async def wait(self) -> None:
        """Return when it was stopped. Raises ``OSError`` if it has ended by itself."""
        if self._task is None:
            return
        await asyncio.wait({self._task})
        if not self._server.should_exit:
            error = None if self._task.cancelled() else self._task.exception()
            raise OSError(f"the server ended: {error or 'nobody knows why'}")

    async def stop(self) -> None:
        """Answer what is under way and listen no more."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})
            self._task = None
        if self._listening is not None:
            self._listening.close()  # a server that has failed leaves it open


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(address, family=family, backlog=MOST_AT_ONCE)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        raise OSError(f"{address} cannot be listened on: {why}") from None
    listening.setblocking(False)
    # Connections inherit it. asyncio sets it only where a socket names its protocol, and without it
    # whatever is sent in two pieces waits 40 ms for the client's acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
