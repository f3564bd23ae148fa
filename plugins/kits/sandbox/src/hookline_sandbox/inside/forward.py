"""Forwards a loopback port of the sandbox to the proxy's Unix socket outside."""

import contextlib
import os
import select
import socket

PROCESS_NAME = b"sandbox"
"""Name (comm) of the sandbox's own processes, so that `pkill python` does not end them."""
_CHUNK = 65_536
_BACKLOG = 128


def start(path: str, port: int) -> None:
    """Forward connections to ``port``, in a child process that ends with this one."""
    server = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
    program = os.pidfd_open(os.getpid())
    if os.fork():
        server.close()
        os.close(program)
        return
    with contextlib.suppress(OSError), open("/proc/self/comm", "wb") as name:  # noqa: PTH123
        name.write(PROCESS_NAME)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    try:
        _Pump(path, server, program).run()
    finally:
        os._exit(0)


class _Pump:
    """Copies bytes between pairs of sockets; waits until everything is written."""

    def __init__(self, path: str, server: socket.socket, program: int) -> None:
        self._path, self._server, self._program = path, server, program
        self._peer: dict[socket.socket, socket.socket] = {}
        self._poll = select.poll()
        self._by_number: dict[int, socket.socket] = {}
        for number in (server.fileno(), program):
            self._poll.register(number, select.POLLIN)

    def run(self) -> None:
        """Run until the program ends."""
        while True:
            for number, _ in self._poll.poll():
                if number == self._program:
                    return
                if number == self._server.fileno():
                    self._accept()
                elif number in self._by_number:
                    self._move(self._by_number[number])

    def _accept(self) -> None:
        inner, _ = self._server.accept()
        outer = socket.socket(socket.AF_UNIX)
        try:
            outer.connect(self._path)
        except OSError:
            inner.close()
            outer.close()
            return
        for one, other in ((inner, outer), (outer, inner)):
            one.settimeout(60)
            self._peer[one] = other
            self._by_number[one.fileno()] = one
            self._poll.register(one.fileno(), select.POLLIN)

    def _move(self, source: socket.socket) -> None:
        target = self._peer[source]
        try:
            data = source.recv(_CHUNK)
            if data:
                target.sendall(data)
                return
        except OSError:
            pass
        for one in (source, target):
            self._poll.unregister(one.fileno())
            del self._by_number[one.fileno()], self._peer[one]
            one.close()
