"""SQLite, made read-only by the file's mode, ``query_only`` and an authorizer."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hookline_hookspecs import Refused, ToolError

from ..query_guard import ReadStatement, rules_of
from .base import (
    ResultRows,
    StatementLimits,
    StopSignal,
    TableInfo,
    fetch_rows,
    query,
    time_limit_error,
)

PROGRESS_STEPS = 2_000
"""Virtual machine steps between two checks of the timeout."""
SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 64_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_DECLARES = frozenset({sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE})
"""Actions while a virtual table (FTS5, json_each) declares its columns."""


class Sqlite:
    """A database in ``file``."""

    name = "sqlite"

    def __init__(self, file: Path) -> None:
        self._file = file

    def query(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Run a checked statement; see ``DatabaseEngine``."""
        return self._read(statement.sql, limits, stop)

    def cost(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> float | None:
        """Return None: there is no estimate."""
        return None

    def explain(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Return SQLite's query plan, as an indented list."""
        sql = statement.sql
        if statement.starter != "EXPLAIN":
            sql = f"EXPLAIN QUERY PLAN {sql}"
        found = self._read(sql, limits, stop)
        if found.columns != ("id", "parent", "notused", "detail"):
            return found
        depth = {0: 0}
        lines = []
        for number, parent, _, detail in found.rows:
            depth[number] = depth.get(parent, 0) + 1
            lines.append(("  " * depth.get(parent, 0) + detail,))
        return ResultRows(("plan",), tuple(lines), found.more)

    def tables(self, limits: StatementLimits, stop: StopSignal) -> list[TableInfo]:
        """Return tables and views with their columns, keys and references."""
        with self._open_connection(limits, stop) as connection:
            made = connection.execute(query("sqlite", "tables")).fetchall()
            return [self._table(connection, name, kind) for name, kind in made]

    def _table(self, connection: sqlite3.Connection, name: str, kind: str) -> TableInfo:
        points = {
            row[0]: f"{row[1]}.{row[2] or '?'}"
            for row in connection.execute(
                'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', (name,)
            )
        }
        columns = []
        try:
            listed = connection.execute(
                'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden != 1',
                (name,),
            ).fetchall()
        except sqlite3.Error:  # a view on a table that no longer exists
            listed = []
        for column, type_, required, key in listed:
            notes = ["PK"] if key else ["NOT NULL"] if required else []
            notes += [f"-> {points[column]}"] if column in points else []
            columns.append((column, type_, " ".join(notes)))
        return TableInfo(name, kind, tuple(columns))

    def probe(self, limits: StatementLimits, stop: StopSignal) -> str:
        """Read the file's header; see ``DatabaseEngine``."""
        rows = self._read("SELECT count(*) FROM sqlite_master", limits, stop).rows
        return f"SQLite {sqlite3.sqlite_version}, {rows[0][0]} objects"

    @contextmanager
    def writing(self, limits: StatementLimits, stop: StopSignal) -> Iterator[SqliteWriter]:
        """A transaction that may write; see ``DatabaseEngine``."""
        with self._open_connection(limits, stop, writes=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteWriter(connection)

    def _read(self, sql: str, limits: StatementLimits, stop: StopSignal) -> ResultRows:
        for careful in (False, True):
            before = self._state()
            with self._open_connection(limits, stop, careful=careful) as connection:
                cursor = connection.execute(sql)
                names = [column[0] for column in cursor.description or ()]
                found = fetch_rows(names, cursor, limits)
            if careful or before == self._state():
                break
        return found

    def _state(self) -> tuple[int, ...]:
        """Changes when the file itself was written."""
        about = self._file.stat()
        return (about.st_size, about.st_mtime_ns, about.st_ino)

    @contextmanager
    def _open_connection(
        self,
        limits: StatementLimits,
        stop: StopSignal,
        *,
        careful: bool = False,
        writes: bool = False,
    ) -> Iterator[sqlite3.Connection]:
        deadline = time.monotonic() + limits.seconds
        connection = None
        with self._translate_errors(limits, stop, lambda: time.monotonic() > deadline):
            try:
                alone = not writes and not careful and self._has_no_wal()
                connection = self._open(limits, alone=alone, mode="rw" if writes else "ro")
                connection.text_factory = _decode
                for bound, most in SQLITE_LIMITS.items():
                    connection.setlimit(bound, most)
                held = "foreign_keys=ON" if writes else "query_only=ON"
                for pragma in (held, "trusted_schema=OFF", "mmap_size=0"):
                    connection.execute(f"PRAGMA {pragma}")
                connection.set_authorizer(_authorize_write if writes else _authorize_read)
                connection.set_progress_handler(
                    lambda: stop.stopped or time.monotonic() > deadline, PROGRESS_STEPS
                )
                with stop.calls(connection.interrupt):
                    yield connection
            finally:
                if connection is not None:
                    connection.close()

    def _open(self, limits: StatementLimits, *, alone: bool, mode: str) -> sqlite3.Connection:
        if not self._file.is_file():
            raise ToolError(f"{self._file} does not exist; nothing was created")
        # Without a -wal file, no one uses a database in WAL mode. Opened as immutable, it gets no
        # -wal and -shm files, and its folder may be read-only.
        uri = f"file:{quote(str(self._file))}?mode={mode}" + ("&immutable=1" if alone else "")
        return sqlite3.connect(
            uri,
            uri=True,
            timeout=limits.lock_seconds,
            isolation_level=None,
            check_same_thread=False,
        )

    def _has_no_wal(self) -> bool:
        with self._file.open("rb") as file:
            head = file.read(20)
        in_wal = head[18:20] == b"\x02\x02"
        return in_wal and not self._beside("-wal").exists()

    def _beside(self, suffix: str) -> Path:
        return self._file.with_name(self._file.name + suffix)

    @contextmanager
    def _translate_errors(
        self, limits: StatementLimits, stop: StopSignal, timed_out: Callable[[], bool]
    ) -> Iterator[None]:
        """Errors of SQLite as the tool's errors."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            if stop.stopped:
                raise ToolError("the statement was stopped") from None
            if "interrupted" in text and timed_out():
                raise time_limit_error(limits) from None
            if "not authorized" in text or "prohibited" in text or "readonly database" in text:
                raise Refused(
                    f"SQLite does not allow this on a read-only connection: {text}"
                ) from None
            if "locked" in text:
                raise ToolError(
                    f"{self._file.name} is locked by another program; gave up after "
                    f"{limits.lock_seconds:g} s. Try again"
                ) from None
            if "unable to open" in text and self._beside("-wal").exists():
                raise ToolError(
                    f"{self._file.name} has changes in {self._file.name}-wal, and the folder "
                    "cannot be written to, so SQLite cannot read them; copy both elsewhere"
                ) from None
            raise ToolError(f"SQLite: {text}") from None
        except (sqlite3.Warning, ValueError, OverflowError) as error:
            raise ToolError(f"SQLite: {error}") from None
        except PermissionError:
            raise ToolError(f"this process may not read {self._file}") from None


class SqliteWriter:
    """A transaction of SQLite; closing the connection rolls it back."""

    undoes_structure = True
    mark = "?"
    overriding = ""
    receipt = ""
    state_query = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""
        return '"{}"'.format(name.replace('"', '""'))

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin itself; see ``WriteTransaction``."""
        return self._connection.execute(sql, list(values)).rowcount

    def undoes(self, table: str) -> bool:
        """Return True: all tables have transactions."""
        return True

    def rows(self, sql: str, limits: StatementLimits) -> ResultRows:
        """Run a query; see ``WriteTransaction``."""
        cursor = self._connection.execute(sql)
        return fetch_rows([column[0] for column in cursor.description or ()], cursor, limits)

    def run(self, sql: str) -> int:
        """Run a statement; changes by triggers are not counted."""
        self._connection.execute(sql).fetchall()
        return int(self._connection.execute("SELECT changes()").fetchone()[0])

    def commit(self) -> None:
        """Commit the transaction."""
        self._connection.execute("COMMIT")


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _authorize_read(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    """Allow only reading; called for each part of a statement when it is compiled."""
    rules = rules_of("sqlite")
    if action in _READS or (action in _DECLARES and _is_declared(action, first)):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        name = (second or "").upper()
        return sqlite3.SQLITE_DENY if rules.functions.fullmatch(name) else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA:
        name = (first or "").lower()
        asked = name in rules.pragmas_named or (name in rules.pragmas_bare and second is None)
        return sqlite3.SQLITE_OK if asked else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY


def _authorize_write(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    """Allow only changes of this file."""
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION:
        return _authorize_read(action, first, second, database, trigger)
    return sqlite3.SQLITE_OK


def _is_declared(action: int, table: str | None) -> bool:
    """Whether SQLite changes its schema in memory; ``mode=ro`` prevents it in the file."""
    return action == sqlite3.SQLITE_CREATE_TABLE or table in ("sqlite_master", "sqlite_temp_master")
