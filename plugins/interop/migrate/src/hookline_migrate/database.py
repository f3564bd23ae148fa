"""Reads another program's SQLite database without writing, even while the program runs.

A database with a log (``-wal``) may be in use and is opened with ``mode=ro``; one without is opened
as ``immutable``, because SQLite would create a log even for reading.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .source_folder import SourceFolder, Unreadable

MAX_VALUE_BYTES = 64 << 20
"""Bytes of a value of a row."""


class SourceDatabase:
    """An open database; its methods raise ``Unreadable``."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._columns: dict[str, frozenset[str]] = {}

    def columns(self, table: str) -> frozenset[str]:
        """Return the columns of a table; none if it does not exist or is a view."""
        if table not in self._columns:
            kind = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
            is_table = self._rows(kind, (table,))
            rows = self._rows(f'PRAGMA table_info("{table}")', ()) if is_table else []
            self._columns[table] = frozenset(str(row["name"]) for row in rows)
        return self._columns[table]

    def select(
        self, table: str, columns: Sequence[str], rest: str = "", values: Sequence[Any] = ()
    ) -> Iterator[dict[str, Any]]:
        """Yield rows of a table as dicts, with None for columns that do not exist.

        ``rest`` is the SQL after the table's name. A missing table has no rows.
        """
        existing = self.columns(table)
        if not existing:
            return
        names = ", ".join(f'"{one}"' for one in columns if one in existing)
        missing = dict.fromkeys(one for one in columns if one not in existing)
        try:
            query = f'SELECT {names} FROM "{table}" {rest}'  # noqa: S608 - no part comes from the other program
            for row in self._connection.execute(query, values):
                yield missing | dict(row)
        except sqlite3.Error as error:
            raise Unreadable(f"cannot read {self._name}: {error}") from None

    def _rows(self, sql: str, values: Sequence[Any]) -> list[sqlite3.Row]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise Unreadable(f"cannot read {self._name}: {error}") from None


@contextmanager
def open_database(folder: SourceFolder, path: str) -> Iterator[SourceDatabase | None]:
    """Open a database of a folder; None if it does not exist. Raises ``Unreadable``."""
    real = folder.real(path)
    if real is None:
        yield None
        return
    for beside in ("-wal", "-shm", "-journal"):
        if real.with_name(real.name + beside).is_symlink():
            raise Unreadable(f"{path}{beside} is a link and was not read")
    connection = _connect(real, path)
    try:
        yield SourceDatabase(connection, path)
    finally:
        connection.close()


def _connect(real: Path, path: str) -> sqlite3.Connection:
    how = "mode=ro" if real.with_name(f"{real.name}-wal").exists() else "mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(f"{real.as_uri()}?{how}", uri=True, timeout=30)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
    except (sqlite3.Error, AttributeError) as error:
        raise Unreadable(f"cannot open {path}: {error}") from None
    return connection
