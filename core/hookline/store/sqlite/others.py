"""Whether anybody else has written into the database: another process, or another store here.

``PRAGMA data_version`` differs once *another connection* has committed. Everything of a store is
written by one connection, so asked there it tells of others only, but that connection belongs to
the writing thread. A third connection may be asked at any time; it hears of the store's own commits
too, so the writing thread notes what it says after each of them.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from .connection import Connect, SqliteConnection, store_error


class Others:
    """Counts the times at which others were seen to have written."""

    def __init__(self, path: Path, writer: SqliteConnection, connect: Connect) -> None:
        """Connect to ``path``; ``writer`` is the store's writing connection. Raises
        ``StoreError``."""
        self._writer = writer
        self._watch = SqliteConnection(path, connect)
        self._watch.execute("PRAGMA busy_timeout = 0")
        self._watch.execute("PRAGMA query_only = ON")
        self._lock = threading.Lock()
        self._count = 0
        self._theirs = _version(writer)
        self._seen = _version(self._watch)
        self._is_committing = False

    def close(self) -> None:
        """Disconnect."""
        self._watch.close()

    def begun(self) -> None:
        """The writing thread has begun a transaction: nobody else can commit until it ends."""
        self._ask_writer()
        self._is_committing = True

    def ended(self) -> None:
        """It has ended, and others may have committed since."""
        self._seen = _version(self._watch)
        self._ask_writer()  # after that, so that what came between is not taken for its own
        self._is_committing = False

    @property
    def count(self) -> int:
        """How often others have been seen to write, as of now. Any thread may ask; sometimes a
        write of this store is counted as well."""
        if not self._is_committing:
            seen = _version(self._watch)
            if seen != self._seen:
                self._seen = seen
                self._add()
        return self._count

    def _ask_writer(self) -> None:
        theirs = _version(self._writer)
        if theirs != self._theirs:
            self._theirs = theirs
            self._add()

    def _add(self) -> None:
        with self._lock:
            self._count += 1


def _version(connection: SqliteConnection) -> object:
    """What the pragma says; something new if the database cannot be asked now."""
    try:
        return connection.raw.execute("PRAGMA data_version").fetchone()[0]
    except sqlite3.Error:
        return object()


def users(path: Path) -> list[str]:
    """Who has the database at ``path`` open, in words; this process must not. Each connection to a
    database with a log holds a lock for as long as it is open. Raises ``StoreError``."""
    if not path.is_file():
        return []
    try:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return ["another process"]
        raise store_error(path, error) from error
    except sqlite3.Error as error:
        raise store_error(path, error) from error
    return []
