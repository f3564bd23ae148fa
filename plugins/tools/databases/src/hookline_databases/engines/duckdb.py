"""DuckDB, made read-only by the file's mode, without access to anything outside of the file."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from hookline_hookspecs import Refused, ToolError

from ..query_guard import ReadStatement
from .base import (
    ResultRows,
    StatementLimits,
    StopSignal,
    TableInfo,
    fetch_rows,
    group_tables,
    query,
    time_limit_error,
)

SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "python_enable_replacements": "false",
    "python_scan_all_frames": "false",
    "temp_directory": "",
    "memory_limit": "1GB",
    "threads": "2",
    "lock_configuration": "true",
}
"""No files, no network, no extensions, no variables of this process, no temporary files; and none
of it can be changed by a statement."""
READ_KINDS = frozenset({"SELECT", "EXPLAIN", "PRAGMA", "MULTI"})
"""Allowed statement types of DuckDB's own parser; MULTI is a PIVOT."""
FETCH_BATCH_ROWS = 64


class DuckDb:
    """A database in ``file``."""

    name = "duckdb"

    def __init__(self, file: Path) -> None:
        self._file = file

    def query(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Run a checked statement; see ``DatabaseEngine``."""
        return self._read(statement, statement.sql, limits, stop)

    def cost(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> float | None:
        """Return None: there is no estimate."""
        return None

    def explain(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Return DuckDB's drawing of the plan."""
        sql = statement.sql if statement.starter == "EXPLAIN" else f"EXPLAIN {statement.sql}"
        found = self._read(statement, sql, limits, stop)
        return ResultRows(("plan",), tuple((row[-1],) for row in found.rows), found.more)

    def tables(self, limits: StatementLimits, stop: StopSignal) -> list[TableInfo]:
        """Return tables and views with their columns and keys."""
        with self._open_connection(limits, stop) as connection:
            return group_tables(connection.execute(query("duckdb", "columns")).fetchall())

    def probe(self, limits: StatementLimits, stop: StopSignal) -> str:
        """Open the file; see ``DatabaseEngine``."""
        with self._open_connection(limits, stop) as connection:
            row = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
        return f"DuckDB {duckdb.__version__}, {row[0] if row else 0} tables"

    def _read(
        self, statement: ReadStatement, sql: str, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        with self._open_connection(limits, stop) as connection:
            found = duckdb.extract_statements(sql)
            kinds = {statement.type.name for statement in found}
            pivots = "PIVOT" in sql.upper()
            if len(found) != 1 or not kinds <= READ_KINDS or ("MULTI" in kinds and not pivots):
                raise Refused("DuckDB's own parser does not see a single statement that reads")
            connection.execute(sql)
            names = [column[0] for column in connection.description or ()]
            return fetch_rows(names, _rows(connection), limits)

    @contextmanager
    def writing(self, limits: StatementLimits, stop: StopSignal) -> Iterator[DuckDbWriter]:
        """A transaction that may write; see ``DatabaseEngine``."""
        with self._open_connection(limits, stop, writes=True) as connection:
            connection.execute("BEGIN")
            yield DuckDbWriter(connection)

    @contextmanager
    def _open_connection(
        self, limits: StatementLimits, stop: StopSignal, *, writes: bool = False
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        timed_out = threading.Event()
        connection = None
        with _translate_errors(limits, stop, timed_out, self._file.name):
            connection = self._open(limits, writes)

            def time_out() -> None:
                timed_out.set()
                connection.interrupt()

            timer = threading.Timer(limits.seconds, time_out)
            timer.daemon = True
            timer.start()
            try:
                with stop.calls(connection.interrupt):
                    yield connection
            finally:
                timer.cancel()
                connection.close()

    def _open(self, limits: StatementLimits, writes: bool) -> duckdb.DuckDBPyConnection:
        """Connect; retry while another program or write of this one locks the file."""
        until = time.monotonic() + limits.lock_seconds
        while True:
            try:
                return duckdb.connect(str(self._file), read_only=not writes, config=dict(SETTINGS))
            except (duckdb.IOException, duckdb.ConnectionException) as error:
                busy = "lock" in str(error) or "different configuration" in str(error)
                if not busy or time.monotonic() > until:
                    raise
                time.sleep(0.05)


class DuckDbWriter:
    """A transaction of DuckDB; closing the connection rolls it back."""

    undoes_structure = True
    mark = "?"
    overriding = ""
    receipt = ""
    state_query = ""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""
        return '"{}"'.format(name.replace('"', '""'))

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin itself; see ``WriteTransaction``."""
        row = self._connection.execute(sql, list(values)).fetchone()
        return int(row[0]) if row else 0

    def undoes(self, table: str) -> bool:
        """Return True: all tables have transactions."""
        return True

    def rows(self, sql: str, limits: StatementLimits) -> ResultRows:
        """Run a query; see ``WriteTransaction``."""
        self._connection.execute(sql)
        names = [column[0] for column in self._connection.description or ()]
        return fetch_rows(names, _rows(self._connection), limits)

    def run(self, sql: str) -> int:
        """Run a statement; DuckDB counts the rows, or returns them."""
        if len(duckdb.extract_statements(sql)) != 1:
            raise Refused("DuckDB's own parser does not see a single statement")
        found = self._connection.execute(sql)
        columns = [column[0] for column in found.description or ()]
        rows = found.fetchall()
        return int(rows[0][0]) if columns == ["Count"] and rows else len(rows)

    def commit(self) -> None:
        """Commit the transaction."""
        self._connection.execute("COMMIT")


def _rows(connection: duckdb.DuckDBPyConnection) -> Iterator[Any]:
    while batch := connection.fetchmany(FETCH_BATCH_ROWS):
        yield from batch


@contextmanager
def _translate_errors(
    limits: StatementLimits, stop: StopSignal, timed_out: threading.Event, file: str
) -> Iterator[None]:
    """Errors of DuckDB as the tool's errors."""
    try:
        yield
    except duckdb.Error as error:
        text = str(error).partition("\n\n")[0].partition("Traceback")[0].strip()
        if stop.stopped:
            raise ToolError("the statement was stopped") from None
        if timed_out.is_set():
            raise time_limit_error(limits) from None
        if isinstance(error, duckdb.PermissionException) or "read-only mode" in text:
            raise Refused(f"DuckDB does not allow this on a read-only connection: {text}") from None
        if isinstance(error, duckdb.IOException) and "lock" in text:
            raise ToolError(f"{file} is locked by another program; try again") from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise ToolError(
                f"the statement needs more memory than {SETTINGS['memory_limit']}; narrow it down"
            ) from None
        raise ToolError(f"DuckDB: {text}") from None
    except (ValueError, OverflowError, RuntimeError) as error:
        raise ToolError(f"DuckDB: {error}") from None
