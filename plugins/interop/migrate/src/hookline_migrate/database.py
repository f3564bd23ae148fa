"""Reads another program's SQLite database, beside it if it runs; nothing is written.

A database that is open elsewhere has its log (``-wal``) beside it and is opened with ``mode=ro``;
one without a log is opened as ``immutable``, since SQLite would create one even to read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .reading import Folder, Unreadable

LARGEST_VALUE = 64 << 20
"""Bytes of a value of a row."""


class Database:
    """An open database; its methods raise ``Unreadable``."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._columns: dict[str, frozenset[str]] = {}

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none if there is no such table, or it is a view."""
        if table not in self._columns:
            kind = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
            is_table = self._rows(kind, (table,))
            rows = self._rows(f'PRAGMA table_info("{table}")', ()) if is_table else []
            self._columns[table] = frozenset(str(row["name"]) for row in rows)
        return self._columns[table]

    def select(
        self, table: str, wanted: Sequence[str], rest: str = "", values: Sequence[Any] = ()
    ) -> Iterator[dict[str, Any]]:
        """Rows of a table as dicts; a column that this version lacks is None.

        ``rest`` follows the table's name. Nothing if there is no such table.
        """
        there = self.columns(table)
        if not there:
            return
        names = ", ".join(f'"{one}"' for one in wanted if one in there)
        missing = dict.fromkeys(one for one in wanted if one not in there)
        try:
            query = f'SELECT {names} FROM "{table}" {rest}'  # noqa: S608 - all of it is ours
            for row in self._connection.execute(query, values):
                yield missing | dict(row)
        except sqlite3.Error as error:
            raise Unreadable(f"{self._name} cannot be read: {error}") from None

    def _rows(self, sql: str, values: Sequence[Any]) -> list[sqlite3.Row]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise Unreadable(f"{self._name} cannot be read: {error}") from None


@contextmanager
def opened(folder: Folder, path: str) -> Iterator[Database | None]:
    """Open a database of a folder; None if there is none. Raises ``Unreadable``."""
    real = folder.real(path)
    if real is None:
        yield None
        return
    for beside in ("-wal", "-shm", "-journal"):
        if real.with_name(real.name + beside).is_symlink():
            raise Unreadable(f"{path}{beside} is a link; it was left alone")
    connection = _connected(real, path)
    try:
        yield Database(connection, path)
    finally:
        connection.close()


def _connected(real: Path, path: str) -> sqlite3.Connection:
    how = "mode=ro" if real.with_name(f"{real.name}-wal").exists() else "mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(f"{real.as_uri()}?{how}", uri=True, timeout=30)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
    except (sqlite3.Error, AttributeError) as error:
        raise Unreadable(f"{path} cannot be opened: {error}") from None
    return connection
