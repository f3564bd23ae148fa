"""A Hookline home during a scenario, and the processes on it, one after the other."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .wire import PATIENCE, SECRET

OUTSIDE = Path(__file__).with_name("outside")
OFF = (
    *("files", "shell", "web", "skills", "osv", "demo", "delegate", "titles", "memory", "insights"),
    *("user-model", "session-search", "review", "checkpoints", "context-files", "budget"),
)
"""Plugins that cost time and do nothing here; a scenario can leave them on (``standard``)."""
PAGE = resource.getpagesize()


@dataclass
class Node:
    """A home in ``folder``. ``reply_url`` and ``model_url`` are the fakes'."""

    folder: Path
    reply_url: str
    model_url: str
    standard: bool = False
    env: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    prefix: tuple[str, ...] = ()
    """What the command begins with: ``taskset -c 0``."""
    command: tuple[str, ...] = ("gateway",)
    store: str = "sqlite"
    shared: Path | None = None
    """Where the ledger is written, if not in this node's own workspace."""

    def __post_init__(self) -> None:
        # Bound and never listened on: the system gives it to no one else while a gateway is dead.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self.port: int = self._reserved.getsockname()[1]
        self.workspace.mkdir(parents=True, exist_ok=True)
        self._install()
        self.configure()

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def workspace(self) -> Path:
        return self.shared or self.folder / "work"

    @property
    def log(self) -> Path:
        return self.folder / "gateway.log"

    @property
    def database(self) -> Path:
        return self.home / "hookline.db"

    def _install(self) -> None:
        """Make the harness's plugin visible, as an installed dist is."""
        site = self.folder / "site"
        info = site / "harness_ledger-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        for name in ("ledger.py", "sitecustomize.py"):
            shutil.copy(OUTSIDE / name, site)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: harness-ledger\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text("[hookline.plugins]\nledger = ledger:Ledger\n")

    def configure(self, **plugins: Any) -> None:
        """Write ``config.yaml``."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        webhook = {"listen": f"127.0.0.1:{self.port}", "secret": SECRET}
        chosen: dict[str, Any] = {} if self.standard else dict.fromkeys(OFF, False)
        chosen |= {"access": {"allow": ["webhook:*"]}, "ledger": True}
        chosen |= {"webhook": {**webhook, "reply_url": self.reply_url}, **plugins}
        provider = {"base_url": self.model_url, "api_key": "test"}
        config = {"model": "openai/fake", "providers": {"openai": provider}, "plugins": chosen}
        config["store"] = self.store
        (self.home / "config.yaml").write_text(json.dumps(config))

    async def start(self, **env: str) -> float:
        """Start a gateway and wait until it is ready; the seconds it took."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        paths = [str(self.folder / "site"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        own = {"HOOKLINE_HOME": str(self.home), "PYTHONPATH": os.pathsep.join(paths)}
        own["XDG_CACHE_HOME"] = str(self.folder / "cache")
        log = self.log
        log.touch()
        begin, size = time.monotonic(), log.stat().st_size
        with log.open("ab") as err:
            self.process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", "hookline", *self.command],
                cwd=self.workspace,
                env=base | own | self.env | env,
                stdin=subprocess.DEVNULL,
                stdout=err,
                stderr=err,
            )
        while b"ready\n" not in _tail(log, size):
            if self.process.poll() is not None and "HOOKLINE_CRASH_AT" not in env:
                raise AssertionError(f"{self.command[0]} ended: {_tail(log, size).decode()}")
            if self.process.returncode is not None or time.monotonic() > begin + PATIENCE:
                break
            await asyncio.sleep(0.005)
        return time.monotonic() - begin

    def limit_files(self, size: int = resource.RLIM_INFINITY) -> None:
        """Let no file of the running gateway grow beyond so many bytes."""
        assert self.process is not None
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    async def ended(self, seconds: float = PATIENCE) -> int | None:
        """Wait until the gateway is gone; its return code, or None if it still runs."""
        assert self.process is not None
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            await asyncio.sleep(0.005)
        return self.process.returncode

    async def kill(self) -> None:
        """``kill -9``."""
        assert self.process is not None
        self.process.kill()
        await self.ended()

    async def stop(self) -> int | None:
        """SIGTERM, and the return code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return await self.ended()

    def close(self) -> None:
        """Leave nothing running."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self._reserved.close()

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """What the database answers."""
        with closing(sqlite3.connect(self.database)) as db:
            return db.execute(sql, values).fetchall()

    def is_whole(self) -> bool:
        """True if SQLite finds nothing wrong with the database."""
        return self.rows("PRAGMA integrity_check") == [("ok",)]

    def turns(self) -> Mapping[str, int]:
        """How many turns each message had."""
        return dict(
            self.rows(
                "SELECT i.message_id, count(t.id) FROM inbox i LEFT JOIN turns t "
                "ON t.inbox_id = i.id GROUP BY i.message_id"
            )
        )

    def ledger(self) -> list[str]:
        """Each run of the tool ``append``, in order."""
        log = self.workspace / "ledger.log"
        return log.read_text().splitlines() if log.exists() else []

    def sample(self) -> Sample:
        """The gateway's process as the system sees it."""
        assert self.process is not None
        proc = Path(f"/proc/{self.process.pid}")
        stat = (proc / "stat").read_text().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        return Sample(
            time.monotonic(),
            int((proc / "statm").read_text().split()[1]) * PAGE,
            len(list((proc / "fd").iterdir())),
            len(list((proc / "task").iterdir())),
            (int(stat[11]) + int(stat[12])) / ticks,
        )


@dataclass(frozen=True)
class Sample:
    """Resident bytes, open file handles, threads and processor seconds at a time."""

    at: float
    resident: int
    handles: int
    threads: int
    cpu: float


def _tail(path: Path, start: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read()
