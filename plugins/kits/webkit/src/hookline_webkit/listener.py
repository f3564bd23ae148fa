"""An HTTP server: an ASGI application on uvicorn in the event loop of the gateway.

The gateway keeps handling the process's signals. Import this module only when a plugin starts to
listen, because it imports uvicorn.
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
from .connections import HEADER_TIMEOUT_SECONDS, MAX_INCOMPLETE_REQUESTS, connection_class

SHUTDOWN_SECONDS = 5
"""Seconds for running requests when the server stops."""
MAX_CONCURRENT_REQUESTS = 512
"""Connections and requests. Above it uvicorn answers 503, so that the sender tries again."""


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave SIGTERM and SIGINT to the gateway, which drains."""
        yield


class Listener:
    """A listening server.

    Args:
        app: the ASGI application; it gets neither lifespan events nor websockets.
        max_concurrent: connections and requests above which uvicorn answers 503; None for no limit.
        max_incomplete: connections with an incomplete request, of which the oldest is closed.
        idle_seconds: how long a kept-open connection may wait for its next request.
        options: further options of ``uvicorn.Config``, such as ``ssl_certfile``.
    """

    def __init__(
        self,
        app: Any,
        *,
        max_concurrent: int | None = MAX_CONCURRENT_REQUESTS,
        max_incomplete: int = MAX_INCOMPLETE_REQUESTS,
        idle_seconds: float = HEADER_TIMEOUT_SECONDS,
        **options: Any,
    ) -> None:
        self._server = _Server(
            uvicorn.Config(
                app,
                http=connection_class(idle_seconds, max_incomplete),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=max_concurrent,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
                timeout_keep_alive=max(1, int(idle_seconds)),
                **options,
            )
        )
        self._task: asyncio.Task[None] | None = None
        self._listening: socket.socket | None = None

    async def start(self, address: Address) -> Address:
        """Listen. Return the address once requests are answered. Raises ``OSError``."""
        listening = self._listening = _bind(address)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started:
            if self._task.done():
                listening.close()
                self._task.result()
                raise OSError("the server ended immediately")
            await asyncio.sleep(0.01)
        return Address(address.host, listening.getsockname()[1])

    async def wait(self) -> None:
        """Return when the server was stopped. Raises ``OSError`` if it ended by itself."""
        if self._task is None:
            return
        await asyncio.wait({self._task})
        if not self._server.should_exit:
            error = None if self._task.cancelled() else self._task.exception()
            raise OSError(f"the server ended: {error or 'unknown reason'}")

    async def stop(self) -> None:
        """Finish running requests and stop listening."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})
            self._task = None
        if self._listening is not None:
            self._listening.close()  # a failed server leaves it open


def _bind(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(address, family=family, backlog=MAX_CONCURRENT_REQUESTS)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        raise OSError(f"cannot listen on {address}: {why}") from None
    listening.setblocking(False)
    # Connections inherit this. asyncio sets it only for sockets created with a protocol number.
    # Without it, a response sent in two pieces waits 40 ms for the client's acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
