"""DuckDB, held to reading by the file's mode and without access to anything outside of the file."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from hookline_hookspecs import Refused, ToolError

from ..guard import Statement
from .base import Limits, Rows, Stop, Table, fetched, grouped, query

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
"""No files, no network, no extensions, no variables of this process; nothing is spilled to disk
beside the database, and none of it can be set again."""
KINDS = frozenset({"SELECT", "EXPLAIN", "PRAGMA", "MULTI"})
"""What DuckDB's own parser may call a statement; MULTI is a PIVOT."""
BATCH = 64


class DuckDb:
    """A database in ``file``."""

    name = "duckdb"

    def __init__(self, file: Path) -> None:
        self._file = file

    def query(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Run a judged statement; see ``Engine``."""
        return self._read(statement, statement.sql, limits, stop)

    def cost(self, statement: Statement, limits: Limits, stop: Stop) -> float | None:
        """Return None: it makes no estimate."""
        return None

    def explain(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Return DuckDB's drawing of the plan."""
        sql = statement.sql if statement.starter == "EXPLAIN" else f"EXPLAIN {statement.sql}"
        found = self._read(statement, sql, limits, stop)
        return Rows(("plan",), tuple((row[-1],) for row in found.rows), found.more)

    def tables(self, limits: Limits, stop: Stop) -> list[Table]:
        """Return tables and views with their columns and keys."""
        with self._connected(limits, stop) as connection:
            return grouped(connection.execute(query("duckdb", "columns")).fetchall())

    def probe(self, limits: Limits, stop: Stop) -> str:
        """Open the file; see ``Engine``."""
        with self._connected(limits, stop) as connection:
            row = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
        return f"DuckDB {duckdb.__version__}, {row[0] if row else 0} tables"

    def _read(self, statement: Statement, sql: str, limits: Limits, stop: Stop) -> Rows:
        with self._connected(limits, stop) as connection:
            found = duckdb.extract_statements(sql)
            kinds = {one.type.name for one in found}
            pivots = "PIVOT" in sql.upper()
            if len(found) != 1 or not kinds <= KINDS or ("MULTI" in kinds and not pivots):
                raise Refused("DuckDB's own parser does not call this one statement that reads")
            connection.execute(sql)
            names = [column[0] for column in connection.description or ()]
            return fetched(names, _rows(connection), limits)

    @contextmanager
    def writing(self, limits: Limits, stop: Stop) -> Iterator[DuckDbWriter]:
        """A transaction that writes; see ``Engine``."""
        with self._connected(limits, stop, writes=True) as connection:
            connection.execute("BEGIN")
            yield DuckDbWriter(connection)

    @contextmanager
    def _connected(
        self, limits: Limits, stop: Stop, *, writes: bool = False
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        late = threading.Event()
        connection = None
        with _explained(limits, stop, late, self._file.name):
            connection = self._open(limits, writes)

            def ended() -> None:
                late.set()
                connection.interrupt()

            clock = threading.Timer(limits.seconds, ended)
            clock.daemon = True
            clock.start()
            try:
                with stop.by(connection.interrupt):
                    yield connection
            finally:
                clock.cancel()
                connection.close()

    def _open(self, limits: Limits, writes: bool) -> duckdb.DuckDBPyConnection:
        """Connect; another program, or this one's own writing, may hold the file for a moment."""
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
    mark, overriding = "?", ""
    receipt, happened = "", ""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""
        return '"{}"'.format(name.replace('"', '""'))

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin's own making; see ``Writer``."""
        row = self._connection.execute(sql, list(values)).fetchone()
        return int(row[0]) if row else 0

    def undoes(self, table: str) -> bool:
        """Return True: all tables have transactions."""
        return True

    def rows(self, sql: str, limits: Limits) -> Rows:
        """Run a query; see ``Writer``."""
        self._connection.execute(sql)
        names = [column[0] for column in self._connection.description or ()]
        return fetched(names, _rows(self._connection), limits)

    def run(self, sql: str) -> int:
        """Run a statement; DuckDB counts the rows, or returns them."""
        if len(duckdb.extract_statements(sql)) != 1:
            raise Refused("DuckDB's own parser does not call this one statement")
        found = self._connection.execute(sql)
        columns = [column[0] for column in found.description or ()]
        rows = found.fetchall()
        return int(rows[0][0]) if columns == ["Count"] and rows else len(rows)

    def commit(self) -> None:
        """Make it last."""
        self._connection.execute("COMMIT")


def _rows(connection: duckdb.DuckDBPyConnection) -> Iterator[Any]:
    while batch := connection.fetchmany(BATCH):
        yield from batch


@contextmanager
def _explained(limits: Limits, stop: Stop, late: threading.Event, file: str) -> Iterator[None]:
    """Errors of DuckDB as sentences."""
    try:
        yield
    except duckdb.Error as error:
        text = str(error).partition("\n\n")[0].partition("Traceback")[0].strip()
        if stop.stopped:
            raise ToolError("the statement was stopped") from None
        if late.is_set():
            raise ToolError(
                f"the statement took longer than {limits.seconds:g} s and was ended; narrow it down"
            ) from None
        if isinstance(error, duckdb.PermissionException) or "read-only mode" in text:
            raise Refused(f"DuckDB does not let a reading connection do this: {text}") from None
        if isinstance(error, duckdb.IOException) and "lock" in text:
            raise ToolError(f"{file} is locked by another program; try again") from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise ToolError(
                f"the statement needs more memory than {SETTINGS['memory_limit']}; narrow it down"
            ) from None
        raise ToolError(f"DuckDB: {text}") from None
    except (ValueError, OverflowError, RuntimeError) as error:
        raise ToolError(f"DuckDB: {error}") from None
