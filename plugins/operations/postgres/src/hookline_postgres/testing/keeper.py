"""Runs the PostgreSQL server that all processes of one test run share, in a separate process.

``python -m hookline_postgres.testing.keeper FOLDER PID`` starts the server in FOLDER, and stops it
when the process PID has ended or on SIGTERM.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from .server import Server

LOOK_SECONDS = 0.5


def keep(folder: Path, process: int) -> None:
    """Start the server; write its address to ``FOLDER/address`` once it answers."""
    running = True

    def end(*_: object) -> None:
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, end)
    with Server(folder) as server:
        part = folder / "address.part"
        part.write_text(server.url)
        part.replace(folder / "address")
        while running and _lives(process):
            time.sleep(LOOK_SECONDS)


def _lives(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return not Path("/proc/self").exists()


def address_of(folder: Path, process: int) -> str:
    """Return the address of the server in ``folder``; the first call starts it.

    Raises:
        RuntimeError: the server does not start.
    """
    found = folder / "address"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o755)
        command = [sys.executable, "-m", "hookline_postgres.testing.keeper"]
        with (folder / "keeper.log").open("wb") as log:
            keeper = subprocess.Popen(
                [*command, str(folder), str(process)],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        keeper.returncode = 0  # it outlives the process that started it, and ends with the test run
    deadline = time.monotonic() + 120
    while not found.exists():
        if time.monotonic() > deadline or not folder.exists():
            raise RuntimeError(f"No PostgreSQL server has started in {folder}.")
        time.sleep(0.02)
    return found.read_text()


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
