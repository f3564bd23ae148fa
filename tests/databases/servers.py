"""Databases of their own on the servers of the run, with a login that only reads."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

SICK = Path(__file__).parent / "sick"
PATIENCE = 30.0
"""Seconds within which somebody who waits for a lock is seen to wait."""


class Clinic:
    """A PostgreSQL database with ailments; ``url`` is for a login that only reads."""

    def __init__(self, server: str) -> None:
        tag = secrets.token_hex(4)
        self._server, self._name, self._reader = server, f"sick_{tag}", f"doctor_{tag}"
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f"CREATE ROLE {self._reader} LOGIN".encode())
            admin.execute(f"GRANT pg_read_all_data, pg_monitor TO {self._reader}".encode())
            admin.execute(f"CREATE DATABASE {self._name}".encode())
        with self.connect(autocommit=True) as owner:
            owner.execute((SICK / "postgres.sql").read_bytes())

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
def clinic(server: str) -> Iterator[Clinic]:
    """A database that is dropped in the end."""
    made = Clinic(server)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def chain(sick: Clinic) -> Iterator[list[int]]:
    """Three transactions, the second waits for the first and the third for the second; their pids.

    What waits is sent and not read, so that it needs no thread.
    """
    changes = "UPDATE people SET name = 'changed' WHERE id = {}".format
    with ExitStack() as stack:
        root, middle, last, watcher = (sick.connect(autocommit=True) for _ in range(4))
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
