"""SQLite, held to reading by the file's mode, by ``query_only`` and by an authorizer."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hookline_hookspecs import Refused, ToolError

from ..guard import Statement, rules_of
from .base import Limits, Rows, Stop, Table, fetched, query

STEPS = 2_000
"""Steps of SQLite's machine between two looks at the clock."""
BOUNDS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 64_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_DECLARES = frozenset({sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE})
"""What SQLite asks about while a virtual table (FTS5, json_each) tells it its columns."""


class Sqlite:
    """A database in ``file``."""

    name = "sqlite"

    def __init__(self, file: Path) -> None:
        self._file = file

    def query(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Run a judged statement; see ``Engine``."""
        return self._read(statement.sql, limits, stop)

    def cost(self, statement: Statement, limits: Limits, stop: Stop) -> float | None:
        """Return None: it makes no estimate."""
        return None

    def explain(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
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
        return Rows(("plan",), tuple(lines), found.more)

    def tables(self, limits: Limits, stop: Stop) -> list[Table]:
        """Return tables and views with their columns, keys and references."""
        with self._connected(limits, stop) as connection:
            made = connection.execute(query("sqlite", "tables")).fetchall()
            return [self._table(connection, name, kind) for name, kind in made]

    def _table(self, connection: sqlite3.Connection, name: str, kind: str) -> Table:
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
        except sqlite3.Error:  # a view on what is not there any more
            listed = []
        for column, type_, required, key in listed:
            notes = ["PK"] if key else ["NOT NULL"] if required else []
            notes += [f"-> {points[column]}"] if column in points else []
            columns.append((column, type_, " ".join(notes)))
        return Table(name, kind, tuple(columns))

    def probe(self, limits: Limits, stop: Stop) -> str:
        """Read the file's header; see ``Engine``."""
        rows = self._read("SELECT count(*) FROM sqlite_master", limits, stop).rows
        return f"SQLite {sqlite3.sqlite_version}, {rows[0][0]} objects"

    @contextmanager
    def writing(self, limits: Limits, stop: Stop) -> Iterator[SqliteWriter]:
        """A transaction that writes; see ``Engine``."""
        with self._connected(limits, stop, writes=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteWriter(connection)

    # Reading

    def _read(self, sql: str, limits: Limits, stop: Stop) -> Rows:
        for careful in (False, True):
            before = self._state()
            with self._connected(limits, stop, careful=careful) as connection:
                cursor = connection.execute(sql)
                names = [column[0] for column in cursor.description or ()]
                found = fetched(names, cursor, limits)
            if careful or before == self._state():
                break
        return found

    def _state(self) -> tuple[int, ...]:
        """Changes when somebody else has written into the file itself."""
        about = self._file.stat()
        return (about.st_size, about.st_mtime_ns, about.st_ino)

    @contextmanager
    def _connected(
        self, limits: Limits, stop: Stop, *, careful: bool = False, writes: bool = False
    ) -> Iterator[sqlite3.Connection]:
        deadline = time.monotonic() + limits.seconds
        connection = None
        with self._explained(limits, stop, lambda: time.monotonic() > deadline):
            try:
                alone = not writes and not careful and self._is_at_rest()
                connection = self._open(limits, alone=alone, mode="rw" if writes else "ro")
                connection.text_factory = _decoded
                for bound, most in BOUNDS.items():
                    connection.setlimit(bound, most)
                held = "foreign_keys=ON" if writes else "query_only=ON"
                for pragma in (held, "trusted_schema=OFF", "mmap_size=0"):
                    connection.execute(f"PRAGMA {pragma}")
                connection.set_authorizer(_authorized_write if writes else _authorized)
                connection.set_progress_handler(
                    lambda: stop.stopped or time.monotonic() > deadline, STEPS
                )
                with stop.by(connection.interrupt):
                    yield connection
            finally:
                if connection is not None:
                    connection.close()

    def _open(self, limits: Limits, *, alone: bool, mode: str) -> sqlite3.Connection:
        if not self._file.is_file():
            raise ToolError(f"there is no file {self._file}; nothing was created")
        # Without a -wal file, a database in WAL mode is in nobody's hands. Opened as one that does
        # not change, no -wal and -shm appear beside it, and its folder may be read-only.
        uri = f"file:{quote(str(self._file))}?mode={mode}" + ("&immutable=1" if alone else "")
        return sqlite3.connect(
            uri,
            uri=True,
            timeout=limits.lock_seconds,
            isolation_level=None,
            check_same_thread=False,
        )

    def _is_at_rest(self) -> bool:
        with self._file.open("rb") as file:
            head = file.read(20)
        in_wal = head[18:20] == b"\x02\x02"
        return in_wal and not self._beside("-wal").exists()

    def _beside(self, suffix: str) -> Path:
        return self._file.with_name(self._file.name + suffix)

    @contextmanager
    def _explained(self, limits: Limits, stop: Stop, late: Callable[[], bool]) -> Iterator[None]:
        """Errors of SQLite as sentences."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            if stop.stopped:
                raise ToolError("the statement was stopped") from None
            if "interrupted" in text and late():
                raise ToolError(
                    f"the statement took longer than {limits.seconds:g} s and was ended; narrow "
                    "it down"
                ) from None
            if "not authorized" in text or "prohibited" in text or "readonly database" in text:
                raise Refused(f"SQLite does not let a reading connection do this: {text}") from None
            if "locked" in text:
                raise ToolError(
                    f"{self._file.name} is locked by another program; it was waited for "
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
    mark, overriding = "?", ""
    receipt, happened = "", ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""
        return '"{}"'.format(name.replace('"', '""'))

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin's own making; see ``Writer``."""
        return self._connection.execute(sql, list(values)).rowcount

    def undoes(self, table: str) -> bool:
        """Return True: all tables have transactions."""
        return True

    def rows(self, sql: str, limits: Limits) -> Rows:
        """Run a query; see ``Writer``."""
        cursor = self._connection.execute(sql)
        return fetched([column[0] for column in cursor.description or ()], cursor, limits)

    def run(self, sql: str) -> int:
        """Run a statement; what its triggers change is not counted."""
        self._connection.execute(sql).fetchall()
        return int(self._connection.execute("SELECT changes()").fetchone()[0])

    def commit(self) -> None:
        """Make it last."""
        self._connection.execute("COMMIT")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _authorized(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    """Allow what only reads; called for each part of a statement when it is compiled."""
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


def _authorized_write(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    """Allow what changes this file alone."""
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION:
        return _authorized(action, first, second, database, trigger)
    return sqlite3.SQLITE_OK


def _is_declared(action: int, table: str | None) -> bool:
    """True for what SQLite itself does to its schema in memory; in a file, ``mode=ro`` stops it."""
    return action == sqlite3.SQLITE_CREATE_TABLE or table in ("sqlite_master", "sqlite_temp_master")
