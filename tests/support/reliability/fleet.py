"""A cluster on one machine: a database, a slow line to it, gateways and workers.

Each process has a home of its own. With ``machines`` each also has a host name of its own, so that
the others cannot see that it ended and have to wait until it has been silent for long.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from hookline_postgres.testing import Server

from support.slow_proxy import SlowLine

from .node import Node
from .wire import Line

WATCH = Path(__file__).with_name("outside") / "watch.sql"


class Fleet:
    """Nodes by name, around one database."""

    def __init__(
        self,
        folder: Path,
        reply_url: str,
        model_url: str,
        *,
        machines: bool = False,
        counts: bool = False,
    ) -> None:
        """With ``counts`` the database counts each statement, by ``pg_stat_statements``."""
        counting = {"shared_preload_libraries": "pg_stat_statements"} if counts else {}
        self.folder = folder
        self.shared = folder / "shared"
        self.shared.mkdir()
        self.server = Server(**counting)
        self.line = SlowLine(f"{self.server.folder}/.s.PGSQL.5432")
        self.nodes: dict[str, Node] = {}
        self._urls = reply_url, model_url
        self._machines, self._counts = machines, counts

    @property
    def store(self) -> str:
        """What the nodes have as ``store:``."""
        return f"postgresql://hookline@127.0.0.1:{self.line.port}/postgres"

    def add(self, name: str, *command: str) -> Node:
        """A node for a process that runs ``command``."""
        place = self.folder / name
        place.mkdir()
        named = ("unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$0" "$@"')
        node = Node(
            place,
            *self._urls,
            command=command,
            store=self.store,
            shared=self.shared,
            prefix=named if self._machines else (),
        )
        node.configure(cluster={"sweep": 1.0})
        self.nodes[name] = node
        return node

    def named(self, kind: str) -> list[Node]:
        """The nodes whose names begin so."""
        return [node for name, node in self.nodes.items() if name.startswith(kind)]

    async def start(self, gateways: int, workers: int) -> None:
        """Start so many of each; the tables are there, and watched, before the others start."""
        first = self.add("gateway0", "gateway", "--no-turns")
        await first.start()
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(WATCH.read_bytes())
            if self._counts:
                connection.execute("CREATE EXTENSION pg_stat_statements")
        rest = [self.add(f"gateway{n}", "gateway", "--no-turns") for n in range(1, gateways)]
        rest += [self.add(f"worker{n}", "worker") for n in range(workers)]
        await asyncio.gather(*(node.start() for node in rest))

    async def restart_database(self, pause: float) -> None:
        """Restart it as an upgrade does: connections are broken, what was committed is flushed."""
        await asyncio.to_thread(self.server.stop, signal.SIGINT)
        await asyncio.sleep(pause)
        await asyncio.to_thread(self.server.start)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What the database answers."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchall()

    def turns(self) -> dict[str, int]:
        """How many turns each message had."""
        return dict(
            self.rows(
                "SELECT i.message_id, count(t.id) FROM inbox i LEFT JOIN turns t "
                "ON t.inbox_id = i.id GROUP BY i.message_id"
            )  # type: ignore[arg-type]
        )

    def by_others(self) -> list[tuple[Any, ...]]:
        """Rows of histories that another process than their session's owner has written."""
        return self.rows(
            "SELECT w.what, w.session, t.node, w.owner FROM harness_writes w "
            "JOIN harness_transactions t USING (xact) WHERE w.owner IS DISTINCT FROM t.node"
        )

    def watched(self) -> int:
        """How many rows of histories were looked at."""
        found: int = self.rows("SELECT count(*) FROM harness_writes")[0][0]
        return found

    def ledger(self) -> list[str]:
        """Each run of the tool ``append``, in order."""
        log = self.shared / "ledger.log"
        return log.read_text().splitlines() if log.exists() else []

    def is_whole(self) -> bool:
        """True if the database can be read to its end."""
        command = [self.server.programs / "pg_dump", "--dbname", self.server.url]
        return not subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode

    async def status(self) -> dict[str, Any]:
        """``hookline cluster status --json``."""
        node = self.nodes["gateway0"]
        made = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hookline", "cluster", "status", "--json"),
            env={**os.environ, "HOOKLINE_HOME": str(node.home)},
            cwd=self.shared,
            stdout=subprocess.PIPE,
        )
        found: dict[str, Any] = json.loads((await made.communicate())[0])
        return found

    def close(self) -> None:
        """Leave nothing running."""
        for node in self.nodes.values():
            if node.process is not None:
                with suppress(ProcessLookupError):
                    node.process.send_signal(signal.SIGCONT)
            node.close()
        self.line.__exit__(None, None, None)
        self.server.close()


class GatewayClient:
    """The platform's connection to some gateway, and to another when that does not answer."""

    def __init__(self, ports: list[int], seed: Any) -> None:
        self._lines = [Line(port) for port in ports]
        self._seed = seed
        self._at = seed.randrange(len(ports))

    async def post(self, body: bytes) -> int:
        """Post a signed body; the status. Raises ``OSError`` if nobody answers."""
        try:
            async with asyncio.timeout(5.0):  # one that is frozen takes it and says nothing
                return await self._lines[self._at].post(body)
        except OSError:
            self._lines[self._at].close()
            self._at = (self._at + 1) % len(self._lines)
            raise

    def close(self) -> None:
        """Hang up."""
        for line in self._lines:
            line.close()
