"""The processes that share a database: which are alive, and what each owns.

A process is a row of ``nodes`` with a heartbeat every `BEAT_SECONDS`. Another process that needs
what it owns may declare it dead after `DEAD_AFTER_SECONDS` of silence, by deleting its row; on the
same machine a process that has ended is noticed at once. Each writing transaction begins by writing
its number to a row that is deleted with that of its process (``hookline_fence``). So a process that
was only suspended cannot write any more when it wakes up: fencing, as described by Kleppmann ("How
to do distributed locking", 2016), with the row in place of a token. If a connection is lost at the
end of a transaction, the number shows whether it was committed; PostgreSQL's own transaction ids
can be reused after a crash. All times are the database's, so that clocks need not agree.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from hookline_hookspecs.errors import Fenced, StoreError

from .address import DatabaseAddress
from .connection import FENCED, ConnectionLost, PgConnection, TransactionConflict
from .notices import Notices
from .topics import CHANGES_TOPIC, change_payload, channel

BEAT_SECONDS = 5.0
DEAD_AFTER_SECONDS = 15.0
"""Two heartbeats may be lost."""
MAX_ATTEMPTS = 6


@cache
def _sql() -> Mapping[str, str]:
    import aiosql

    file = Path(__file__).with_name("nodes.sql")
    found = aiosql.from_path(file, "sqlite3", mandatory_parameters=False, encoding="utf-8")
    return {name: getattr(found, name).sql for name in found.available_queries}


class _NodeConnection:
    """A connection for single statements from any thread, reopened if it was lost."""

    def __init__(self, where: DatabaseAddress) -> None:
        self._where = where
        self._lock = threading.Lock()
        self._connection: PgConnection | None = None

    def query(self, query: str, /, **params: object) -> list[dict[str, Any]]:
        """Run a statement of ``nodes.sql``. Raises ``StoreError``."""
        with self._lock:
            for attempt in range(MAX_ATTEMPTS):
                try:
                    if self._connection is None:
                        self._connection = PgConnection(self._where)
                    return [dict(row) for row in self._connection.fetch(_sql()[query], params)]
                except ConnectionLost:
                    self._connection = None
                    if attempt + 1 == MAX_ATTEMPTS:
                        raise
                    time.sleep(0.1 * 2**attempt)
                except TransactionConflict:
                    time.sleep(0.01 * 2**attempt)
        raise StoreError("The database is too busy. Try again.")

    def close(self) -> None:
        """Disconnect."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()


class Node:
    """This process in the database. Not to be used on the event loop's thread."""

    def __init__(self, where: DatabaseAddress) -> None:
        self.id = uuid.uuid4().hex
        self._name = f"process {os.getpid()} on {socket.gethostname()}"
        self._connection = _NodeConnection(where)
        self._beat_connection = _NodeConnection(where)
        self._notice_connection = _NodeConnection(where)
        self.notices = Notices(self._notice_connection.query)
        self.channel_key = ""
        """The key of :func:`.topics.channel`, after :meth:`join`."""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def fence(self, number: int, transaction: int) -> str:
        """The first statement of each transaction of the writer ``number``."""
        return f"SELECT hookline_fence('{self.id}', {number}, {transaction})"

    @property
    def _changes(self) -> str:
        return channel(self.channel_key, CHANGES_TOPIC)

    def change_statement(self, tables: Iterable[str]) -> str:
        """The statement that announces a change of ``tables`` to other processes.

        It runs after the transaction: inside, the commit would block all other notifications.
        """
        return f"SELECT pg_notify('{self._changes}', '{change_payload(self.id, tables)}')"

    def announce_change(self, tables: Iterable[str]) -> None:
        """Announce a change again, if it is unknown whether it was announced."""
        with suppress(StoreError):
            self._connection.query(
                "tell", channel=self._changes, payload=change_payload(self.id, tables)
            )

    def last_transaction(self, number: int) -> int:
        """The number of the writer's last transaction that was committed. Raises ``Fenced``."""
        rows = self._connection.query("last_transaction", id=self.id, number=number)
        if not rows:
            raise Fenced(FENCED)
        return int(rows[0]["transaction"])

    def join(self, writers: int) -> None:
        """Register this process with its writers and start its heartbeat. Raises ``StoreError``."""
        self.channel_key = self._connection.query("channel_key")[0]["key"]
        pid = os.getpid()
        process = {"pid": pid, "started": _started(pid), "host": _host()}
        self._connection.query("join", id=self.id, name=self._name, **process)
        self._connection.query("add_writers", id=self.id, last=writers - 1)
        self._thread = threading.Thread(target=self._beat, name="hookline-beat", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Release everything this process owns, and unregister it."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        with suppress(StoreError):
            self._connection.query("release_all", id=self.id)
            self._connection.query("forget_beat", id=self.id)
            self._connection.query("forget", id=self.id)
        self.notices.close()
        for connection in (self._connection, self._beat_connection, self._notice_connection):
            connection.close()

    def take(self, key: str) -> int | None:
        """Own ``key`` if no live process does; return its epoch or None. Raises ``Fenced``."""
        if rows := self._connection.query("take", key=key, id=self.id):
            return int(rows[0]["epoch"])
        if not self._connection.query("alive", id=self.id):
            raise Fenced(FENCED)
        return None

    def give_back(self, key: str, epoch: int) -> None:
        """Release ``key``."""
        with suppress(StoreError):  # the next owner will find this process gone
            self._connection.query("give_back", key=key, id=self.id, epoch=epoch)

    def holder(self, key: str) -> str:
        """The name of the process that owns ``key``; a silent one is declared dead."""
        rows = self._connection.query("holder", key=key)
        if not rows:
            return "another process"
        row = rows[0]
        if _is_gone(row):
            self._connection.query("forget", id=row["id"])
        elif _is_silent(row):
            self._connection.query("bury", id=row["id"], seconds=DEAD_AFTER_SECONDS)
        return str(row["name"])

    def _beat(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            with suppress(StoreError):  # the next heartbeat may succeed
                self._beat_connection.query("beat", id=self.id)


def living_processes(where: DatabaseAddress) -> list[str]:
    """The names of the processes that have the database open. Raises ``StoreError``."""
    connection = _NodeConnection(where)
    try:
        if not connection.query("is_set_up"):
            return []
        rows = connection.query("nodes")
    finally:
        connection.close()
    return [str(row["name"]) for row in rows if not (_is_gone(row) or _is_silent(row))]


def _is_gone(row: Mapping[str, Any]) -> bool:
    """Whether a process of this machine has ended."""
    return bool(row["host"] == _host() and _started(row["pid"]) != row["started"])


def _is_silent(row: Mapping[str, Any]) -> bool:
    return row["silent"] is None or row["silent"] > DEAD_AFTER_SECONDS


def _host() -> str:
    """Identifies this boot of this machine or container, within which process ids are unique."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    return f"{socket.gethostname()} {uuid.getnode()}"


def _started(pid: int) -> str:
    """The start time of a process as the system reports it; empty if there is no such process.

    On systems other than Linux it is always empty, and a process counts as alive until it is
    silent.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
