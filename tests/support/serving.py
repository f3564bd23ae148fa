"""A server on a thread of its own, for as long as a block runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import TypeVar

ServerT = TypeVar("ServerT", bound=BaseServer)


@contextmanager
def serving(server: ServerT, released: threading.Event | None = None) -> Iterator[ServerT]:
    """Serve while the block runs, then close.

    Args:
        server: bound already, so that its port is known.
        released: set at the end, for handlers that wait for it.
    """
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        if released is not None:
            released.set()
        server.shutdown()
        thread.join()
        server.server_close()
