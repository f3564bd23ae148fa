"""Starts commands on request, each confined by Landlock, and supervises their network.

Run as ``python -I -S -c "…; landlock_server.main()" SETTINGS``, outside of any sandbox, with the
requests of :mod:`server` on standard input. SETTINGS is JSON with the ``proxy``'s Unix socket or
null, the ``port`` that stands for it, ``local_ports`` of the machine, ``folders`` for Unix sockets
and ``hidden`` paths in them, and ``supervised``: false, where the network cannot be supervised and
programs have no sockets. A request to run has ``landlock``, the settings of :mod:`landlock`, and
``limits``.

The processes of commands stay below this one, however they are started: it adopts orphans.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys

from . import forward, landlock, server, start
from .network_supervisor import Supervisor

_SET_PDEATHSIG, _SET_SUBREAPER = 1, 36  # include/uapi/linux/prctl.h
_LIBC = ctypes.CDLL(None, use_errno=True)
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def main() -> None:
    """Serve the socket until it is closed, then end every process below this one."""
    settings = json.loads(sys.argv[1])
    _LIBC.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    connection = server.take_connection()
    landlock.drop_capabilities(_LIBC)
    serving = _LandlockServer(connection, settings)
    try:
        serving.run()
    finally:
        serving.end_all()


class _LandlockServer(server.Server):
    def __init__(self, connection: socket.socket, settings: dict) -> None:  # type: ignore[type-arg]
        ports = {}
        if settings["proxy"] and settings["supervised"]:
            ports[settings["port"]] = forward.start_on_any_port(settings["proxy"])
        self._supervisor = None
        if settings["supervised"]:
            places = (settings["folders"], settings["hidden"])
            self._supervisor = Supervisor(ports, settings["local_ports"], *places)
        self._listeners: list[int] = []
        self._pair: tuple[socket.socket, socket.socket] | None = None
        super().__init__(connection)

    def listeners(self) -> list[int]:
        """Return the descriptors that report calls."""
        return self._listeners

    def notified(self, listener: int) -> None:
        """Answer a call, or forget a command whose processes have all ended."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        events = dict(poll.poll(0)).get(listener, 0)
        if events & select.POLLIN and self._supervisor is not None:
            self._supervisor.answer(listener)
        elif events:
            self._listeners.remove(listener)
            os.close(listener)

    def running(self) -> list[int]:
        """Return the ids of every running process below this one."""
        parents = server.parents()
        found = {os.getpid()}
        while below := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= below
        return [pid for pid in found if pid != os.getpid()]

    def signal_all(self, number: int) -> None:
        """Send a signal to every process below this one."""
        for pid in self.running():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def prepare(self, command: dict) -> None:  # type: ignore[type-arg]
        """Make the way on which the command sends the descriptor of its calls."""
        if self._supervisor is not None:
            self._pair = socket.socketpair()

    def confine(self, command: dict) -> None:  # type: ignore[type-arg]
        """Set limits, and apply Landlock and the filter."""
        _LIBC.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        start.set_limits(command["limits"], with_others=True)
        landlock.restrict(command["landlock"], self._pair[1] if self._pair else None)

    def started(self, command: dict, child: int) -> None:  # type: ignore[type-arg]
        """Take the descriptor that reports the calls of a command."""
        if self._pair is None:
            return
        ours, theirs = self._pair
        self._pair = None
        theirs.close()
        with ours, contextlib.suppress(OSError):  # it failed and says so itself
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
            self._listeners += descriptors
