"""Forwards loopback ports of the sandbox to the proxy's Unix socket outside.

One port is the proxy's own. The others stand for the same ports of the machine, which the proxy
opens.
"""

import contextlib
import os
import select
import socket

PROCESS_NAME = b"sandbox"
"""Name (comm) of the sandbox's own processes, so that `pkill python` does not end them."""
_CHUNK = 65_536
_BACKLOG = 128
_LOCAL_SECONDS = 10
"""Seconds within which the proxy opens a port of the machine."""


def start(path: str, port: int, local_ports: list[int]) -> None:
    """Forward connections to ``port``, in a child process that ends with this one.

    Those to ``local_ports`` are tunnelled to the machine's own. A port that is in use, or below
    1024, is left out.
    """
    servers = {socket.create_server(("127.0.0.1", port), backlog=_BACKLOG): b""}
    for local in local_ports:
        with contextlib.suppress(OSError):
            server = socket.create_server(("127.0.0.1", local), backlog=_BACKLOG)
            servers[server] = f"CONNECT localhost:{local} HTTP/1.1\r\n\r\n".encode()
    _start(path, servers)


def start_on_any_port(path: str) -> int:
    """Forward connections to a free port of the machine's loopback, and return the port.

    Only those of this account are accepted.
    """
    server = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    port: int = server.getsockname()[1]
    _start(path, {server: b""}, only_own=True)
    return port


def _start(path: str, servers: dict[socket.socket, bytes], *, only_own: bool = False) -> None:
    program = os.pidfd_open(os.getpid())
    if os.fork():
        for server in servers:
            server.close()
        os.close(program)
        return
    with contextlib.suppress(OSError), open("/proc/self/comm", "wb") as name:  # noqa: PTH123
        name.write(PROCESS_NAME)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    try:
        _Pump(path, servers, program, only_own=only_own).run()
    finally:
        os._exit(0)


def _is_own(peer: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether a process of this account made the connection (proc_net_tcp(5))."""
    ends = [f"{port:04X}" for _, port in (peer, server)]
    for name in ("tcp", "tcp6"):  # the second for an IPv6 socket with a mapped address
        with open(f"/proc/net/{name}", "rb") as file:  # noqa: PTH123
            for line in file.read().decode().splitlines()[1:]:
                fields = line.split()
                if [end.partition(":")[2] for end in fields[1:3]] == ends:
                    return int(fields[7]) == os.getuid()
    return False


def _open_tunnel(outer: socket.socket, head: bytes) -> None:
    """Have the proxy open a tunnel. Raises ``OSError`` if it refuses."""
    outer.sendall(head)
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        data = outer.recv(1)  # what follows belongs to the program
        if not data:
            break
        answer += data
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise ConnectionRefusedError


class _Pump:
    """Copies bytes between pairs of sockets; waits until everything is written."""

    def __init__(
        self, path: str, servers: dict[socket.socket, bytes], program: int, *, only_own: bool
    ) -> None:
        self._path, self._program, self._only_own = path, program, only_own
        self._servers = {server.fileno(): (server, head) for server, head in servers.items()}
        self._peer: dict[socket.socket, socket.socket] = {}
        self._poll = select.poll()
        self._by_number: dict[int, socket.socket] = {}
        for number in (*self._servers, program):
            self._poll.register(number, select.POLLIN)

    def run(self) -> None:
        """Run until the program ends."""
        while True:
            for number, _ in self._poll.poll():
                if number == self._program:
                    return
                if number in self._servers:
                    self._accept(*self._servers[number])
                elif number in self._by_number:
                    self._move(self._by_number[number])

    def _accept(self, server: socket.socket, head: bytes) -> None:
        """Accept a connection. ``head`` is what the proxy has to grant first, if not empty."""
        inner, peer = server.accept()
        if self._only_own and not _is_own(peer, server.getsockname()):
            inner.close()
            return
        outer = socket.socket(socket.AF_UNIX)
        try:
            outer.settimeout(_LOCAL_SECONDS)
            outer.connect(self._path)
            if head:
                _open_tunnel(outer, head)
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
