"""Counts writes by others: by another process, or by another store in this process.

``PRAGMA data_version`` of a connection changes when *another* connection commits. A store writes
through one connection, whose pragma therefore reports only others, but that connection belongs to
the writing thread. A third connection, the observer, can be read at any time. Its pragma also
reports the store's own commits, so the writing thread reads it after each of them.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from .connection import Connect, SqliteConnection, store_error


class ForeignWriteCounter:
    """Counts the observed writes by others."""

    def __init__(self, path: Path, writer: SqliteConnection, connect: Connect) -> None:
        """Connect to ``path``; ``writer`` is the store's writing connection.

        Raises:
            StoreError: the database cannot be opened.
        """
        self._writer = writer
        self._observer = SqliteConnection(path, connect)
        self._observer.execute("PRAGMA busy_timeout = 0")
        self._observer.execute("PRAGMA query_only = ON")
        self._lock = threading.Lock()
        self._count = 0
        self._writer_version = _version(writer)
        self._observer_version = _version(self._observer)
        self._is_committing = False

    def close(self) -> None:
        """Disconnect."""
        self._observer.close()

    def transaction_began(self) -> None:
        """Call after the writing thread began a transaction; others cannot commit until it ends."""
        self._check_writer()
        self._is_committing = True

    def transaction_ended(self) -> None:
        """Call after the transaction ended; others may have committed since."""
        self._observer_version = _version(self._observer)
        # Second, so that a commit by others between the two calls is still counted.
        self._check_writer()
        self._is_committing = False

    @property
    def count(self) -> int:
        """The number of writes by others so far; can be read in any thread.

        Occasionally a write of this store is counted too.
        """
        if not self._is_committing:
            version = _version(self._observer)
            if version != self._observer_version:
                self._observer_version = version
                self._add()
        return self._count

    def _check_writer(self) -> None:
        version = _version(self._writer)
        if version != self._writer_version:
            self._writer_version = version
            self._add()

    def _add(self) -> None:
        with self._lock:
            self._count += 1


def _version(connection: SqliteConnection) -> object:
    """The data version, or a unique object if the database cannot be read now."""
    try:
        return connection.raw.execute("PRAGMA data_version").fetchone()[0]
    except sqlite3.Error:
        return object()


def database_users(path: Path) -> list[str]:
    """Describe who else has the database at ``path`` open. This process must not have it open.

    Each connection to a database with a write-ahead log holds a lock while it is open.

    Raises:
        StoreError: the database cannot be read.
    """
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
