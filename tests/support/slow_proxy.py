"""A TCP proxy that delays every byte, or cuts or blocks the connection.

``python -m support.slow_proxy TO --delay MS`` prints its port and serves until its stdin is
closed. A line on stdin changes it: ``delay MS``, ``cut`` (breaks all connections), ``down`` (and
takes no new ones), ``up``, and ``count``, which prints the journeys so far as ``JOURNEYS BYTES``.
A journey is a burst towards the server that follows one from it. TO is ``HOST:PORT`` or the path
of a socket. MS are those of the round trip; half of them is spent in each direction, by threads
that sleep, since an event loop's timers are no finer than the millisecond that is to be measured.
"""

from __future__ import annotations

import argparse
import queue
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

CHUNK = 1 << 16


class Relay:
    """The proxy itself, in this process. ``delay`` is in seconds, of the round trip."""

    def __init__(self, to: str, delay: float = 0.0) -> None:
        """Listen on a port of its own; ``to`` is ``HOST:PORT`` or the path of a socket."""
        self.delay = delay
        self.journeys = self.carried = 0
        self._to = to
        self._is_up = True
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all connections."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def down(self) -> None:
        """Break all connections and take no new ones until `up`."""
        self._is_up = False
        self.cut()

    def up(self) -> None:
        """Take connections again."""
        self._is_up = True

    def _accept(self) -> None:
        while True:
            near, _ = self._listening.accept()
            try:
                if not self._is_up:
                    raise ConnectionRefusedError
                far = _connected(self._to)
            except OSError:
                near.close()
                continue
            self._pairs.append((near, far))
            turn = _Turn()
            for one in (near, far):
                if one.family != socket.AF_UNIX:
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, target in ((near, far), (far, near)):
                self._carry(source, target, turn, source is near)

    def _carry(
        self, source: socket.socket, target: socket.socket, turn: _Turn, towards: bool
    ) -> None:
        """Carry what comes from ``source`` to ``target``, each byte late."""
        waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def read() -> None:
            data = b"\0"
            while data:
                try:
                    data = source.recv(CHUNK)
                except OSError:
                    data = b""
                if data and turn.changes_to(towards) and towards:
                    self.journeys += 1
                self.carried += len(data)
                waiting.put((time.monotonic() + self.delay / 2, data))

        def write() -> None:
            data = b"\0"
            with suppress(OSError):
                while data:
                    due, data = waiting.get()
                    if (left := due - time.monotonic()) > 0:
                        time.sleep(left)
                    target.sendall(data) if data else target.shutdown(socket.SHUT_WR)

        for work in (read, write):
            threading.Thread(target=work, daemon=True).start()


class _Turn:
    """Who of a connection's two ends has spoken last."""

    def __init__(self) -> None:
        self._towards: bool | None = None

    def changes_to(self, towards: bool) -> bool:
        changed, self._towards = self._towards is not towards, towards
        return changed


def _connected(to: str) -> socket.socket:
    host, _, port = to.rpartition(":")
    if port.isdigit() and "/" not in to:
        return socket.create_connection((host, int(port)), 5)
    line = socket.socket(socket.AF_UNIX)
    line.connect(to)
    return line


class SlowLine:
    """The proxy in a process of its own, so that it takes no time from who uses it."""

    def __init__(self, to: str, delay: float = 0.0) -> None:
        """``delay`` in seconds, of the round trip."""
        command = [sys.executable, str(Path(__file__)), to, "--delay", str(delay * 1000)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in: TextIO = self._process.stdin
        self._out: TextIO = self._process.stdout
        self.port = int(self._out.readline())

    def say(self, word: str) -> str:
        """Send a line and return the answer."""
        self._in.write(f"{word}\n")
        self._in.flush()
        return self._out.readline().strip()

    def count(self) -> tuple[int, int]:
        """Journeys and bytes since it began."""
        journeys, carried = self.say("count").split()
        return int(journeys), int(carried)

    def __enter__(self) -> SlowLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._in.close()
        self._process.wait(10)
        self._out.close()


def main() -> None:
    """Serve until stdin is closed."""
    parser = argparse.ArgumentParser(description="A slow line to a server.")
    parser.add_argument("to", metavar="TO", help="HOST:PORT or the path of a socket")
    parser.add_argument("--delay", type=float, default=0.0, metavar="MS", help="of the round trip")
    given = parser.parse_args()
    relay = Relay(given.to, given.delay / 1000)
    print(relay.port, flush=True)
    for line in sys.stdin:
        word, _, value = line.strip().partition(" ")
        if word == "delay":
            relay.delay = float(value) / 1000
        elif word in ("cut", "down", "up"):
            getattr(relay, word)()
        print(relay.journeys, relay.carried, flush=True)


if __name__ == "__main__":
    main()
