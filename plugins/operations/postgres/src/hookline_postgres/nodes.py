"""The processes that share a database: who lives, and who owns what.

A process is a row of ``nodes`` and beats every `BEAT_SECONDS`. One that was not heard of for
`DEAD_AFTER` seconds may be declared dead by who wants what it owns, by removing its row; on the
machine of a process that ended it is seen to be dead at once. Each transaction that writes begins
by writing its number to a row that goes with that of its process (``hookline_fence``). So a process
that was only frozen cannot write any more once it wakes: fencing, as Kleppmann describes it ("How
to do distributed locking", 2016), with the row in the place of a token. And where a connection
breaks while a transaction is ending, the number tells what it came to; PostgreSQL's own number of
it may be another's after a crash. All times are the database's, so that clocks need not agree.
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

from .address import Address
from .connection import FENCED, Again, Broken, PgConnection
from .telling import Notices
from .topics import CHANGES, change, channel

BEAT_SECONDS = 5.0
DEAD_AFTER = 15.0
"""SCALE's values; two beats may be lost."""
TRIES = 6


@cache
def _sql() -> Mapping[str, str]:
    import aiosql

    file = Path(__file__).with_name("nodes.sql")
    found = aiosql.from_path(file, "sqlite3", mandatory_parameters=False, encoding="utf-8")
    return {name: getattr(found, name).sql for name in found.available_queries}


class _Line:
    """A connection of its own for single statements, from any thread; made anew if it was lost."""

    def __init__(self, where: Address) -> None:
        self._where = where
        self._lock = threading.Lock()
        self._connection: PgConnection | None = None

    def ask(self, query: str, /, **params: object) -> list[dict[str, Any]]:
        """Run a statement of ``nodes.sql``. Raises ``StoreError``."""
        with self._lock:
            for attempt in range(TRIES):
                try:
                    if self._connection is None:
                        self._connection = PgConnection(self._where)
                    return [dict(row) for row in self._connection.fetch(_sql()[query], params)]
                except Broken:
                    self._connection = None
                    if attempt + 1 == TRIES:
                        raise
                    time.sleep(0.1 * 2**attempt)
                except Again:
                    time.sleep(0.01 * 2**attempt)
        raise StoreError("The database was too busy to be asked; try again.")

    def close(self) -> None:
        """Disconnect."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()


class Node:
    """This process in the database. Used on any thread but the event loop's."""

    def __init__(self, where: Address) -> None:
        self.id = uuid.uuid4().hex
        self._name = f"process {os.getpid()} on {socket.gethostname()}"
        self._line, self._beating, self._telling = _Line(where), _Line(where), _Line(where)
        self.notices = Notices(self._telling.ask)
        self._changes = channel(where.schema, CHANGES)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def fence(self, number: int, transaction: int) -> str:
        """The statement that a transaction of the writer ``number`` begins with."""
        return f"SELECT hookline_fence('{self.id}', {number}, {transaction})"

    def change(self, tables: Iterable[str]) -> str:
        """The statement that tells the others of a change to ``tables``. It stands behind the end
        of the transaction: inside, the end would keep all others that tell something waiting."""
        return f"SELECT pg_notify('{self._changes}', '{change(self.id, tables)}')"

    def tell_change(self, tables: Iterable[str]) -> None:
        """Tell the others of a change, when it is not known whether they have been told."""
        with suppress(StoreError):
            self._line.ask("tell", channel=self._changes, payload=change(self.id, tables))

    def last_transaction(self, number: int) -> int:
        """The number of the writer's last transaction that was committed. Raises ``Fenced``."""
        rows = self._line.ask("last_transaction", id=self.id, number=number)
        if not rows:
            raise Fenced(FENCED)
        return int(rows[0]["transaction"])

    def join(self, writers: int) -> None:
        """Enter this process with so many writers, and beat from now on. Raises ``StoreError``."""
        pid = os.getpid()
        process = {"pid": pid, "started": _started(pid), "host": _host()}
        self._line.ask("join", id=self.id, name=self._name, **process)
        self._line.ask("add_writers", id=self.id, last=writers - 1)
        self._thread = threading.Thread(target=self._beat, name="hookline-beat", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Let go of everything at once."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        with suppress(StoreError):
            self._line.ask("release_all", id=self.id)
            self._line.ask("forget_beat", id=self.id)
            self._line.ask("forget", id=self.id)
        self.notices.close()
        for line in (self._line, self._beating, self._telling):
            line.close()

    def take(self, key: str) -> int | None:
        """Own ``key`` if nobody alive does: its epoch, or None. Raises ``Fenced``."""
        if rows := self._line.ask("take", key=key, id=self.id):
            return int(rows[0]["epoch"])
        if not self._line.ask("alive", id=self.id):
            raise Fenced(FENCED)
        return None

    def give_back(self, key: str, epoch: int) -> None:
        """Own ``key`` no longer."""
        with suppress(StoreError):  # whoever comes next finds a process that is gone
            self._line.ask("give_back", key=key, id=self.id, epoch=epoch)

    def holder(self, key: str) -> str:
        """Who owns ``key``, for people; declares it dead if it was not heard of for long."""
        rows = self._line.ask("holder", key=key)
        if not rows:
            return "another process"
        row = rows[0]
        if _is_gone(row):
            self._line.ask("forget", id=row["id"])
        elif _is_silent(row):
            self._line.ask("bury", id=row["id"], seconds=DEAD_AFTER)
        return str(row["name"])

    def _beat(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            with suppress(StoreError):  # the next one may succeed
                self._beating.ask("beat", id=self.id)


def living(where: Address) -> list[str]:
    """The processes that have the database open, in words. Raises ``StoreError``."""
    line = _Line(where)
    try:
        if not line.ask("is_set_up"):
            return []
        rows = line.ask("nodes")
    finally:
        line.close()
    return [str(row["name"]) for row in rows if not (_is_gone(row) or _is_silent(row))]


def _is_gone(row: Mapping[str, Any]) -> bool:
    """True for a process that has ended, as is known on its own machine alone."""
    return bool(row["host"] == _host() and _started(row["pid"]) != row["started"])


def _is_silent(row: Mapping[str, Any]) -> bool:
    return row["silent"] is None or row["silent"] > DEAD_AFTER


def _host() -> str:
    """This machine, container included, since it was started: where a number means a process."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    return f"{socket.gethostname()} {uuid.getnode()}"


def _started(pid: int) -> str:
    """When the process began, as the system counts; empty if there is none. Elsewhere than on
    Linux no process has a time, and each counts as alive until it is silent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
