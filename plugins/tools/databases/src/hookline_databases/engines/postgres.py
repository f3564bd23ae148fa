"""PostgreSQL, made read-only by the login, a READ ONLY transaction and its own planner."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from hookline_hookspecs import Refused, ToolError
from psycopg import errors

from ..query_guard import ReadStatement, rules_of
from .base import (
    ResultRows,
    StatementLimits,
    StopSignal,
    TableInfo,
    check_cost,
    fetch_rows,
    group_tables,
    planned_query,
    query,
    query_to_explain,
    time_limit_error,
)
from .postgres_wire import Connection, open_connection

WRITE_NODES = frozenset({"ModifyTable", "LockRows"})
"""Nodes of a plan that change or lock something."""
MAX_NAME_BYTES = 63
"""PostgreSQL cuts longer names."""


class Postgres:
    """The database that ``url`` names."""

    name = "postgres"

    def __init__(self, url: str) -> None:
        self._url = url

    def query(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Run a checked statement; see ``DatabaseEngine``."""
        with self._reading(limits, stop) as connection:
            _check_functions(connection, statement)
            if (planned := planned_query(statement)) is not None:
                check_cost(_cost(connection, planned), limits)
            return _run(connection, statement.sql, limits)

    def cost(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> float | None:
        """Return the planner's cost; see ``DatabaseEngine``."""
        if (planned := planned_query(statement)) is None:
            return None
        with self._reading(limits, stop) as connection:
            _check_functions(connection, statement)
            return _cost(connection, planned)

    def explain(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Return the plan as PostgreSQL's text."""
        planned = query_to_explain(statement)
        with self._reading(limits, stop) as connection:
            _check_functions(connection, statement)
            _cost(connection, planned)
            return _run(connection, f"EXPLAIN {planned}", limits)

    def tables(self, limits: StatementLimits, stop: StopSignal) -> list[TableInfo]:
        """Return tables and views with their columns, keys and references."""
        with self._reading(limits, stop) as connection:
            return group_tables(
                connection.execute(query("postgres", "columns").encode()).fetchall()
            )

    def probe(self, limits: StatementLimits, stop: StopSignal) -> str:
        """Connect and check the login; see ``DatabaseEngine``."""
        with self._reading(limits, stop) as connection:
            version = connection.info.parameter_status("server_version") or "?"
            row = connection.execute("SELECT current_database(), session_user").fetchone()
        database, user = row or ("?", "?")
        return f"PostgreSQL {version.partition(' ')[0]}, database {database} as {user}"

    @contextmanager
    def writing(self, limits: StatementLimits, stop: StopSignal) -> Iterator[PostgresWriter]:
        """A transaction that may write; see ``DatabaseEngine``."""
        timed_out = threading.Event()
        with (
            translate_errors(limits, stop, timed_out),
            open_connection(self._url, limits, stop, timed_out) as connection,
        ):
            connection.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ WRITE")
            apply_settings(connection, limits)
            check_login(connection)
            yield PostgresWriter(connection)

    @contextmanager
    def _reading(self, limits: StatementLimits, stop: StopSignal) -> Iterator[Connection]:
        """A connection in a READ ONLY transaction, which is final after its first query."""
        timed_out = threading.Event()
        with (
            translate_errors(limits, stop, timed_out),
            open_connection(self._url, limits, stop, timed_out) as connection,
        ):
            connection.execute("BEGIN TRANSACTION READ ONLY")
            connection.execute("SELECT 1")
            apply_settings(connection, limits)
            check_login(connection)
            yield connection
            connection.execute("ROLLBACK")


class PostgresWriter:
    """A transaction of PostgreSQL; closing the connection rolls it back."""

    undoes_structure = True
    mark = "%s"
    overriding = "OVERRIDING SYSTEM VALUE "
    receipt = "SELECT txid_current()"
    state_query = "SELECT txid_status({})"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""
        return '"{}"'.format(name.replace('"', '""').replace("%", "%%"))

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin itself; see ``WriteTransaction``."""
        return self._connection.execute(sql.encode(), list(values)).rowcount

    def undoes(self, table: str) -> bool:
        """Return True: all tables have transactions."""
        return True

    def rows(self, sql: str, limits: StatementLimits) -> ResultRows:
        """Run a query; see ``WriteTransaction``."""
        return _run(self._connection, sql, limits)

    def run(self, sql: str) -> int:
        """Run a statement, and check deferred constraints."""
        count = self._connection.execute(sql.encode(), prepare=True).rowcount
        self._connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        return count

    def commit(self) -> None:
        """Commit the transaction."""
        self._connection.execute("COMMIT")


def apply_settings(connection: Connection, limits: StatementLimits) -> None:
    """Set the transaction's timeouts, and how it parses text, as the guard expects."""
    connection.execute(
        query("postgres", "settings").encode(),
        {
            "statement": f"{limits.seconds * 1000:.0f}ms",
            "lock": f"{limits.lock_seconds * 1000:.0f}ms",
        },
    )


def check_login(connection: Connection) -> None:
    """Raise ``Refused`` for a login that a READ ONLY transaction does not restrict."""
    found = connection.execute(query("postgres", "login").encode()).fetchall()
    if found:
        message = "; ".join(str(row[0]) for row in found[:4])
        raise Refused(
            f"this login is too powerful: {message}. Give the connection its own role; "
            "`hookline db grants` prints one"
        )


def _check_functions(connection: Connection, statement: ReadStatement) -> None:
    """Refuse functions that PostgreSQL calls volatile, except known harmless ones."""
    called = {name for function in statement.functions for name in _name_spellings(function)}
    names = {name for written in statement.names for name in _name_spellings(written)} | called
    harmless = rules_of("postgres").volatile
    rows = connection.execute(query("postgres", "functions").encode(), (sorted(names),)).fetchall()
    for name, supplied, takes_a_row in rows:
        if name not in called and not takes_a_row:
            continue
        if not (supplied and harmless.fullmatch(name.upper())):
            raise Refused(
                f"the function {name}() is VOLATILE to PostgreSQL: it may change something. If it "
                "only reads, its owner can say so: ALTER FUNCTION … STABLE"
            )


def _name_spellings(name: str) -> tuple[str, str]:
    cut = name.encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore")
    return cut, cut.lower()


def _cost(connection: Connection, sql: str) -> float:
    """The planner's cost of a query. Raises ``Refused`` if its plan changes something."""
    cursor = connection.execute(f"EXPLAIN (FORMAT JSON) {sql}".encode(), prepare=True)
    row = cursor.fetchone()
    plan = json.loads(row[0])[0] if row else {}
    if (node := _changing(plan)) is not None:
        raise Refused(f"PostgreSQL's plan of this has a {node}: it changes or locks something")
    if "Plan" not in plan:
        raise Refused("PostgreSQL has no plan for this, so it is not a query")
    return float(plan["Plan"]["Total Cost"])


def _changing(plan: Any) -> str | None:
    """The first node that changes something, at any depth."""
    if isinstance(plan, list):
        return next(filter(None, map(_changing, plan)), None)
    if not isinstance(plan, dict):
        return None
    if plan.get("Node Type") in WRITE_NODES:
        return str(plan["Node Type"])
    return next(filter(None, map(_changing, plan.values())), None)


def _run(connection: Connection, sql: str, limits: StatementLimits) -> ResultRows:
    """Fetch a result row by row; the extended protocol accepts only one statement."""
    text = sql.encode()
    cursor = connection.cursor()
    source = cursor.stream(text)
    try:
        first = next(source, None)
        if first is None:
            return ResultRows(_columns(connection, text), ())
        names = [column.name for column in cursor.description or ()]
        return fetch_rows(names, _joined(first, source), limits)
    finally:
        source.close()  # type: ignore[attr-defined]  # a generator, which ends the query
        cursor.close()


def _joined(first: tuple[Any, ...], rest: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    yield first
    yield from rest


def _columns(connection: Connection, sql: bytes) -> tuple[str, ...]:
    """The names of an empty result's columns."""
    raw = connection.pgconn
    raw.prepare(b"", sql)
    found = raw.describe_prepared(b"")
    return tuple((found.fname(n) or b"").decode("utf-8", "replace") for n in range(found.nfields))


@contextmanager
def translate_errors(
    limits: StatementLimits, stop: StopSignal, timed_out: threading.Event
) -> Iterator[None]:
    """Errors of PostgreSQL as the tool's errors."""
    try:
        yield
    except psycopg.Error as error:
        if stop.stopped:
            raise ToolError("the statement was stopped") from None
        if isinstance(error, errors.QueryCanceled) or timed_out.is_set():
            raise time_limit_error(limits) from None
        if isinstance(error, errors.LockNotAvailable):
            raise ToolError(
                f"another session holds a lock on this; gave up after {limits.lock_seconds:g} s. "
                "Try again"
            ) from None
        message = _error_text(error)
        if isinstance(error, errors.ReadOnlySqlTransaction):
            raise Refused(
                f"PostgreSQL does not allow this in a read-only transaction: {message}"
            ) from None
        raise ToolError(f"PostgreSQL: {message}") from None


def _error_text(error: psycopg.Error) -> str:
    """The server's message, or that of libpq for a connection, without a password."""
    parts = (error.diag.message_primary, error.diag.message_detail, error.diag.message_hint)
    found = [part.rstrip(".") for part in parts if part]
    return ". ".join(found) or " ".join(str(error).split()) or type(error).__name__
