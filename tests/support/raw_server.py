"""A server that sends any bytes over a real socket, and counts how many were read.

::

    with WildServer(endless(b"x")) as server:
        ...  # a client of server.base_url
        server.sent
"""

from __future__ import annotations

import itertools
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator

from .serving import serving

Payload = Callable[[], Iterable[bytes]]
"""Makes the bytes of one connection's answer, status line included."""


def http(
    *body: bytes, status: str = "200 OK", kind: str = "text/event-stream", more: str = ""
) -> Payload:
    """An answer whose end is the end of the connection."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}connection: close\r\n\r\n"
    return lambda: (head.encode("latin-1"), *body)


def endless(
    piece: bytes, *first: bytes, kind: str = "text/event-stream", more: str = ""
) -> Payload:
    """An answer that begins with ``first`` and goes on with ``piece`` until nobody reads."""
    head = http(*first, kind=kind, more=more)
    return lambda: itertools.chain(head(), itertools.repeat(piece))


class RawServer:
    """Reads one request per connection and answers with the payload as it is."""

    def __init__(self, payload: Payload) -> None:
        self.payload = payload
        self.sent = 0
        self.requests: list[bytes] = []

    def __enter__(self) -> RawServer:
        owner = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                owner.answer(self.request)

        class Tcp(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self.released = threading.Event()
        self._serving = serving(Tcp(("127.0.0.1", 0), Handler), self.released)
        self.port = self._serving.__enter__().server_address[1]
        return self

    def __exit__(self, *exc: object) -> None:
        self._serving.__exit__(None, None, None)

    @property
    def base_url(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self.port}"

    def answer(self, connection: socket.socket) -> None:
        """Take a request to its end, then send until the client closes."""
        connection.settimeout(10)
        try:
            self.requests.append(_request(connection))
            for piece in self.payload():
                if self.released.is_set():
                    return
                connection.sendall(piece)
                self.sent += len(piece)
        except OSError:
            return


def _request(connection: socket.socket) -> bytes:
    taken = b""
    for part in _parts(connection):
        taken += part
        head, found, body = taken.partition(b"\r\n\r\n")
        if found:
            lines = [line for line in head.lower().split(b"\r\n") if b"content-length:" in line]
            if len(body) >= int(lines[0].split(b":")[1] if lines else 0):
                break
    return taken


def _parts(connection: socket.socket) -> Iterator[bytes]:
    while part := connection.recv(65536):
        yield part
