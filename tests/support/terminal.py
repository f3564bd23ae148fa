"""A program on its own pty, and the screen that pyte renders from its output.

``with TerminalScreen(argv, env=env, cwd=folder) as screen:`` starts it, ``screen.wait_for("on")``
reads until the words stand on the screen, ``screen.type("text\\r")`` presses keys. The terminal
answers what programs ask of it (the cursor's position), as a real one does.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte

PATIENCE = 60.0
"""Seconds until something that should have been shown counts as missing."""
QUIET = 0.3
"""Seconds without output after which a screen is taken to be complete."""
_LEADER = """
import os, sys
os.close(os.open(sys.argv[1], os.O_RDWR))
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Opening a terminal by its name, as leader of a session, makes it the controlling one."""


class TerminalScreen:
    """A program whose stdin, stdout and stderr are a terminal that a test reads and types on.

    Args:
        argv: the program and its arguments; the program's path is absolute.
        env: its environment; ``TERM`` is ``xterm-256color`` unless it says otherwise.
        cwd: the folder it starts in.
        columns: the screen's width in characters.
        rows: its height in lines.
        answers: False for a terminal that answers nothing, not even where its cursor is.
        background: its background as an answer to OSC 11 has it, such as ``ffff/ffff/ffff``; empty
            for a terminal that does not say.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 80,
        rows: int = 24,
        answers: bool = True,
        background: str = "",
    ) -> None:
        self._master, slave = os.openpty()
        self._screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self._stream = pyte.ByteStream(self._screen)
        if answers:
            self._screen.write_process_input = self._answer  # type: ignore[method-assign]
        self._background = background
        self._raw = bytearray()
        self._set_size(columns, rows)
        leader = [sys.executable, "-S", "-c", _LEADER, os.ttyname(slave)]
        self._process = subprocess.Popen(
            [*leader, *argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={"TERM": "xterm-256color", **_without_size(env)},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self.close()

    # What is seen

    @property
    def lines(self) -> list[str]:
        """What the screen shows now, a string a row, without blanks at the ends."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """What the screen shows now."""
        return "\n".join(self.lines).rstrip()

    @property
    def scrollback(self) -> str:
        """Everything from the first line on: what has left the screen, and the screen."""
        gone = [
            "".join(row[x].data for x in range(self._screen.columns))
            for row in self._screen.history.top
        ]
        return "\n".join([*(line.rstrip() for line in gone), *self.lines]).rstrip()

    @property
    def raw(self) -> bytes:
        """Every byte that was written so far."""
        return bytes(self._raw)

    def cell(self, words: str) -> Any:
        """The character (``data fg bg bold reverse``) at which ``words`` begin on the screen."""
        for y, line in enumerate(self._screen.display):
            if (x := line.find(words)) >= 0:
                return self._screen.buffer[y][x]
        raise AssertionError(f"{words!r} is not on the screen:\n{self.text}")

    def wait_for(self, words: str, *, seconds: float = PATIENCE) -> str:
        """Read on until ``words`` stand on the screen; the screen then."""
        return self.wait_until(lambda: words in self.text, words, seconds=seconds)

    def wait_until(self, seen: Callable[[], bool], what: str, *, seconds: float = PATIENCE) -> str:
        """Read on until ``seen()``; ``what`` names it in the failure."""
        until = time.monotonic() + seconds
        while not seen():
            if not self.read(max(0.0, until - time.monotonic())) and not seen():
                raise AssertionError(f"{what!r} did not appear; the screen:\n{self.text}")
        return self.text

    def settle(self, quiet: float = QUIET) -> str:
        """Read until nothing has come for ``quiet`` seconds; the screen then."""
        while self.read(quiet):
            pass
        return self.text

    # What is done

    def type(self, keys: str) -> None:
        """Press keys: ``\\r`` is Enter, ``\\x1b`` Esc, ``\\x1b[Z`` Shift-Tab, ``\\x1b[A`` Up."""
        os.write(self._master, keys.encode())

    def paste(self, text: str) -> None:
        """Paste, as a terminal does for a program that asked for bracketed paste."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        self._screen.resize(rows, columns)
        self._set_size(columns, rows)

    def interrupt(self) -> None:
        """Send SIGINT, as another program would; Ctrl-C is ``type("\\x03")``."""
        self._process.send_signal(signal.SIGINT)

    def end(self, seconds: float = PATIENCE) -> int:
        """Read to the end; the exit code."""
        until = time.monotonic() + seconds
        while self.read(max(0.0, until - time.monotonic())):
            pass
        return self._process.wait(seconds)

    def close(self) -> None:
        """Kill what is left."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait(PATIENCE)
        os.close(self._master)

    def read(self, seconds: float) -> bool:
        """Take in what is written within ``seconds``; False if nothing was."""
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # Linux's way to say that the other end is closed
            return False
        self._raw += data
        if self._background and b"\x1b]11;?" in data:
            self._answer(f"\x1b]11;rgb:{self._background}\x1b\\")
        self._stream.feed(data)
        return bool(data)

    def _answer(self, data: str) -> None:
        os.write(self._master, data.encode())

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _without_size(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without a size that would win over the window's."""
    return {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}
