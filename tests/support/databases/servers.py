"""Databases with known problems on the servers of the run, with a read-only login."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from support import mariadb

FAULTY = Path(__file__).parent / "faulty"
PATIENCE = 30.0
"""Seconds within which somebody who waits for a lock is seen to wait."""


class FaultyDatabase:
    """A PostgreSQL database with known problems; ``url`` is for a read-only login."""

    def __init__(self, server: str) -> None:
        tag = secrets.token_hex(4)
        self._server, self._name, self._reader = server, f"sick_{tag}", f"doctor_{tag}"
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f"CREATE ROLE {self._reader} LOGIN".encode())
            admin.execute(f"GRANT pg_read_all_data, pg_monitor TO {self._reader}".encode())
            admin.execute(f"CREATE DATABASE {self._name}".encode())
        with self.connect(autocommit=True) as owner:
            owner.execute((FAULTY / "postgres.sql").read_bytes())

    @property
    def url(self) -> str:
        """The address for the model."""
        return self._url(self._reader)

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A connection of the superuser."""
        return psycopg.connect(self._url(), **options)

    def close(self) -> None:
        """Drop it."""
        with psycopg.connect(self._server, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE {self._name} WITH (FORCE)".encode())
            admin.execute(f"DROP ROLE {self._reader}".encode())

    def _url(self, user: str = "") -> str:
        parts = conninfo_to_dict(self._server)
        port = f"&port={parts['port']}" if parts.get("port") else ""
        return f"postgresql://{user or parts['user']}@/{self._name}?host={parts['host']}{port}"


@contextmanager
def faulty_database(server: str) -> Iterator[FaultyDatabase]:
    """A database that is dropped in the end."""
    made = FaultyDatabase(server)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def lock_chain(faulty_db: FaultyDatabase) -> Iterator[list[int]]:
    """Three transactions that wait for each other in a chain; yields their pids.

    What waits is sent and not read, so that it needs no thread.
    """
    changes = "UPDATE people SET name = 'changed' WHERE id = {}".format
    with ExitStack() as stack:
        root, middle, last, watcher = (faulty_db.connect(autocommit=True) for _ in range(4))
        for one in (root, middle, last, watcher):
            stack.callback(one.close)
        for one, number in ((root, 1), (middle, 2)):
            one.execute("BEGIN")
            one.execute(changes(number))
        for number, one in enumerate((middle, last), 1):
            one.pgconn.send_query(changes(number).encode())
            until = time.monotonic() + PATIENCE
            while _waiting(watcher) < number:
                assert time.monotonic() < until, "nobody waits for the lock"
                time.sleep(0.02)
        yield [one.info.backend_pid for one in (root, middle, last)]


def _waiting(watcher: psycopg.Connection[Any]) -> int:
    row = watcher.execute(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND datname = current_database()"
    ).fetchone()
    return int(row[0]) if row else 0


class FaultyMariaDB:
    """A MariaDB database with known problems; ``url`` is for a read-only login."""

    def __init__(self, server: mariadb.Server) -> None:
        self._server = server
        self.url = server.url("sick", "doctor")
        with server.connect() as admin:
            cursor = admin.cursor()
            cursor.execute("CREATE DATABASE sick")
            cursor.execute("CREATE USER doctor@localhost")
            for right in (
                "SELECT ON sick.*",
                "SELECT ON performance_schema.*",
                "SELECT ON mysql.innodb_table_stats",
                "PROCESS ON *.*",
            ):
                cursor.execute(f"GRANT {right} TO doctor@localhost")
        with self.connect() as owner:
            cursor = owner.cursor()
            text = (FAULTY / "mariadb.sql").read_text("utf-8").removesuffix(";\n")
            for statement in text.split(";\n"):
                cursor.execute(statement)

    def connect(self) -> Any:
        """A connection of the superuser."""
        return self._server.connect("sick")

    @contextmanager
    def lock_chain(self) -> Iterator[list[int]]:
        """Three transactions, the second waits for the first and the third for the second; their
        connections' numbers."""
        changes = "UPDATE people SET name = 'changed' WHERE id = {}".format
        with ExitStack() as stack:
            root, middle, last, watcher = (self.connect() for _ in range(4))
            for one in (watcher, middle, last):
                stack.callback(one.close)
            numbers = [one.thread_id() for one in (root, middle, last)]
            for one, number in ((root, 1), (middle, 2)):
                one.begin()
                one.cursor().execute(changes(number))
            for count, one in enumerate((middle, last), 1):
                thread = threading.Thread(target=_refused, args=(one, changes(count)))
                thread.start()
                stack.callback(thread.join, PATIENCE)
                self._until_waiting(watcher, count)
            stack.callback(root.close)
            for number in numbers[1:]:
                stack.callback(watcher.cursor().execute, f"KILL {number}")
            yield numbers

    def _until_waiting(self, watcher: Any, count: int) -> None:
        until, found = time.monotonic() + PATIENCE, 0
        while found < count:
            assert time.monotonic() < until, "nobody waits for the lock"
            time.sleep(0.2)  # the list is made anew when nobody has asked for a tenth of a second
            cursor = watcher.cursor()
            cursor.execute(
                "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
            )
            ((found,),) = cursor.fetchall()


def _refused(connection: Any, sql: str) -> None:
    """Run a statement that waits until its session is ended."""
    with suppress(Exception):
        connection.cursor().execute(sql)
