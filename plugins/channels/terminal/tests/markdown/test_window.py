"""The window size that output is written for."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios

import pytest

ASK = (
    "from hookline_markdown import window_size, window_width; print(*window_size(), window_width())"
)


def window_size_of(columns: int, rows: int, env: dict[str, str]) -> str:
    """What a process says whose stderr alone is a terminal of this size."""
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        done = subprocess.run(
            [sys.executable, "-c", ASK],
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=slave,
            text=True,
            check=True,
        )
    finally:
        os.close(master)
        os.close(slave)
    return done.stdout.strip()


@pytest.mark.long
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ((72, 11), "72 11 72"),
        ((7, 11), "7 11 20"),
        ((0, 0), "130 9 130"),  # as a console on a serial line says
    ],
)
def test_environment_sets_window_size_if_terminal_has_none(
    window: tuple[int, int], expected: str
) -> None:
    assert window_size_of(*window, {"COLUMNS": "130", "LINES": "9"}) == expected
