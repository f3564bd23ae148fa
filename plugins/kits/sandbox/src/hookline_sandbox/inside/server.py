"""Starts commands on request inside one sandbox, which lives for a session.

Standard input is a socket of packets (``SOCK_SEQPACKET``) with JSON. A request to ``run`` brings
two descriptors: the command's output, and a file with its ``argv``, ``env``, ``cwd`` and ``mark``,
an entry of its environment by which its processes are found. :class:`Server` is for a PID namespace
of its own: at the end, every process in it is ended.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import time

from . import forward

_PACKET = 65_536
_MAX_DESCRIPTOR = 1_024
_PR_SET_NAME = 15
_SHUTDOWN_SECONDS = 1.0
"""Seconds between SIGTERM and SIGKILL for what still runs at the end."""
_PROC = "/proc"
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def main() -> None:
    """Serve the socket until it is closed, then end every process."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, forward.PROCESS_NAME, 0, 0, 0)
    for number in _IGNORED:  # a command that ends its neighbours would end this too
        signal.signal(number, signal.SIG_IGN)
    server = Server(take_connection())
    try:
        server.run()
    finally:
        server.end_all()


def take_connection() -> socket.socket:
    """Return standard input as a socket, and put nothing in its place."""
    connection = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    return connection


class Server:
    """Serves the requests of a connection. A subclass may confine commands itself."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._own = frozenset(self.running())  # the relay to the proxy
        self._running: dict[int, int] = {}  # by process id, the id of the request
        self._commands: dict[int, tuple[int, str]] = {}  # by request, process id and mark
        self._children, self._wakeup = os.pipe()
        for end in (self._children, self._wakeup):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wakeup)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        """Serve requests until the other side closes the connection."""
        while True:
            requests = self._connection.fileno()
            ready, _, _ = select.select([requests, self._children, *self.listeners()], [], [])
            if self._children in ready:
                self._reap()
            if requests in ready and not self._serve():
                return
            for listener in self.listeners():
                if listener in ready:
                    self.notified(listener)

    def listeners(self) -> list[int]:
        """Return descriptors for which :meth:`notified` is called."""
        return []

    def notified(self, listener: int) -> None:
        """Handle what a descriptor has to read."""

    def running(self) -> list[int]:
        """Return the ids of every running process that is started below this one."""
        return _all()

    def prepare(self, command: dict) -> None:  # type: ignore[type-arg]
        """Prepare for starting a command."""

    def confine(self, command: dict) -> None:  # type: ignore[type-arg]
        """Confine this process, which becomes a command. Raises OSError if that fails."""

    def started(self, command: dict, child: int) -> None:  # type: ignore[type-arg]
        """Take note of a started command."""

    def _serve(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._connection, _PACKET, 2)
        except ConnectionError:
            return False
        if not data:
            return False
        request = json.loads(data)
        number = request["id"]
        if request["do"] == "run":
            self._start(number, *descriptors)
        elif request["do"] == "signal":
            self._reply(number, processes=self._signal(request["command"], request["number"]))
        elif request["do"] == "others":
            self._reply(number, processes=self._others())
        elif request["do"] == "forget":
            self._commands.pop(request["command"], None)
        return True

    def _start(self, number: int, output: int, file: int) -> None:
        with open(file, "rb") as opened:
            command = json.load(opened)
        self.prepare(command)
        child = os.fork()
        if child == 0:
            _become(command, output, self.confine)
        os.close(output)
        self.started(command, child)
        self._running[child] = number
        self._commands[number] = (child, command["mark"])
        self._reply(number, pid=child)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._children, _PACKET)
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not child:
                return
            if child in self._running:
                code = os.waitstatus_to_exitcode(status)
                self._reply(self._running.pop(child), code=code)

    def _signal(self, command: int, number: int) -> list[int]:
        """Send a signal, unless it is 0, to the command's processes, and return their ids."""
        if command not in self._commands:
            return []
        leader, mark = self._commands[command]
        found = [pid for pid in self.running() if _belongs_to(pid, leader, mark.encode())]
        for process in found if number else ():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)
        return found

    def _others(self) -> list[int]:
        """Return the ids of every running process that does not belong to the sandbox itself."""
        return [pid for pid in self.running() if pid not in self._own]

    def signal_all(self, number: int) -> None:
        """Send a signal to every process but this one and the first of the PID namespace."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(-1, number)

    def end_all(self) -> None:
        """End every process of the sandbox: SIGTERM, a moment later SIGKILL."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.signal_all(number)
            until = time.monotonic() + _SHUTDOWN_SECONDS
            while time.monotonic() < until and self._others():
                time.sleep(0.01)
        os._exit(0)

    def _reply(self, number: int, **fields: object) -> None:
        with contextlib.suppress(ConnectionError):
            self._connection.send(json.dumps({"id": number, **fields}).encode())


def _become(command: dict, output: int, confine) -> None:  # type: ignore[type-arg,no-untyped-def]
    """Become the command, in a session of its own. Never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (*_IGNORED, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        confine(command)
        os.closerange(3, _MAX_DESCRIPTOR)
        os.chdir(command["cwd"])
        os.execve(command["argv"][0], command["argv"], command["env"])  # noqa: S606
    except OSError as error:
        os.write(2, f"the command could not be started: {error}\n".encode())
    finally:
        os._exit(126)


def _belongs_to(pid: int, leader: int, mark: bytes) -> bool:
    """Whether a process belongs to a command: it is of its session, or has its mark."""
    return _session(pid) == leader or mark in _environment(pid)


def _all() -> list[int]:
    """Return the ids of every running process that can be seen, but the first and this one."""
    found = [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208
    return [pid for pid in found if pid not in (1, os.getpid()) and _session(pid) is not None]


def parents() -> dict[int, int]:
    """Return the parent of every running process that can be seen, by process id."""
    found = ((int(name), _status(int(name), 1)) for name in os.listdir(_PROC) if name.isdigit())  # noqa: PTH208
    return {pid: parent for pid, parent in found if parent is not None}


def _session(pid: int) -> int | None:
    return _status(pid, 3)


def _status(pid: int, field: int) -> int | None:
    """Return a field after the state (proc_pid_stat(5)); None if it is gone or has ended."""
    fields = _read(f"{_PROC}/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[field]) if fields and fields[0] not in (b"Z", b"X") else None


def _environment(pid: int) -> list[bytes]:
    return _read(f"{_PROC}/{pid}/environ").split(b"\0")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""
