"""PostgreSQL, held to reading by the login, by a READ ONLY transaction and by its own planner."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from hookline_hookspecs import Refused, ToolError
from psycopg import errors

from ..guard import Statement, rules_of
from .base import Costly, Limits, Rows, Stop, Table, fetched, grouped, query
from .postgres_wire import Connection, connected

CHANGING = frozenset({"ModifyTable", "LockRows"})
"""Nodes of a plan that change or lock something."""
PLANNED = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
LONGEST_NAME = 63
"""Bytes of a name; PostgreSQL cuts a longer one."""


class Postgres:
    """The database that ``url`` names."""

    name = "postgres"

    def __init__(self, url: str) -> None:
        self._url = url

    def query(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Run a judged statement; see ``Engine``."""
        with self._reading(limits, stop) as connection:
            _check_functions(connection, statement)
            if (planned := _planned(statement)) is not None:
                cost = _cost(connection, planned)
                if cost > limits.cost:
                    raise Costly(cost, limits.cost)
            return _run(connection, statement.sql, limits)

    def cost(self, statement: Statement, limits: Limits, stop: Stop) -> float | None:
        """Return the planner's cost; see ``Engine``."""
        if (planned := _planned(statement)) is None:
            return None
        with self._reading(limits, stop) as connection:
            _check_functions(connection, statement)
            return _cost(connection, planned)

    def explain(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Return the plan as PostgreSQL's text."""
        planned = _planned(statement)
        if planned is None:
            raise ToolError("only queries have a plan")
        with self._reading(limits, stop) as connection:
            _check_functions(connection, statement)
            _cost(connection, planned)
            return _run(connection, f"EXPLAIN {planned}", limits)

    def tables(self, limits: Limits, stop: Stop) -> list[Table]:
        """Return tables and views with their columns, keys and references."""
        with self._reading(limits, stop) as connection:
            return grouped(connection.execute(query("postgres", "columns").encode()).fetchall())

    def probe(self, limits: Limits, stop: Stop) -> str:
        """Connect and judge the login; see ``Engine``."""
        with self._reading(limits, stop) as connection:
            version = connection.info.parameter_status("server_version") or "?"
            row = connection.execute("SELECT current_database(), session_user").fetchone()
        database, user = row or ("?", "?")
        return f"PostgreSQL {version.partition(' ')[0]}, database {database} as {user}"

    @contextmanager
    def writing(self, limits: Limits, stop: Stop) -> Iterator[PostgresWriter]:
        """A transaction that writes; see ``Engine``."""
        late = threading.Event()
        with explained(limits, stop, late), connected(self._url, limits, stop, late) as connection:
            connection.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ WRITE")
            settle(connection, limits)
            check_login(connection)
            yield PostgresWriter(connection)

    @contextmanager
    def _reading(self, limits: Limits, stop: Stop) -> Iterator[Connection]:
        """A connection in a transaction that reads, and has read, so that it stays so."""
        late = threading.Event()
        with explained(limits, stop, late), connected(self._url, limits, stop, late) as connection:
            connection.execute("BEGIN TRANSACTION READ ONLY")
            connection.execute("SELECT 1")
            settle(connection, limits)
            check_login(connection)
            yield connection
            connection.execute("ROLLBACK")


class PostgresWriter:
    """A transaction of PostgreSQL; closing the connection rolls it back."""

    undoes_structure = True
    mark, overriding = "%s", "OVERRIDING SYSTEM VALUE "
    receipt, happened = "SELECT txid_current()", "SELECT txid_status({})"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""
        return '"{}"'.format(name.replace('"', '""').replace("%", "%%"))

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin's own making; see ``Writer``."""
        return self._connection.execute(sql.encode(), list(values)).rowcount

    def undoes(self, table: str) -> bool:
        """Return True: all tables have transactions."""
        return True

    def rows(self, sql: str, limits: Limits) -> Rows:
        """Run a query; see ``Writer``."""
        return _run(self._connection, sql, limits)

    def run(self, sql: str) -> int:
        """Run a statement, and look at what is looked at when a transaction ends."""
        count = self._connection.execute(sql.encode(), prepare=True).rowcount
        self._connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        return count

    def commit(self) -> None:
        """Make it last."""
        self._connection.execute("COMMIT")


def settle(connection: Connection, limits: Limits) -> None:
    """Bound what follows in this transaction, and have its text read as it was judged."""
    connection.execute(
        query("postgres", "settings").encode(),
        {
            "statement": f"{limits.seconds * 1000:.0f}ms",
            "lock": f"{limits.lock_seconds * 1000:.0f}ms",
        },
    )


def check_login(connection: Connection) -> None:
    """Raise ``Refused`` for a login that no transaction holds back."""
    found = connection.execute(query("postgres", "login").encode()).fetchall()
    if found:
        told = "; ".join(str(row[0]) for row in found[:4])
        raise Refused(
            f"this login is too powerful: {told}. Give the connection a role of its own; "
            "`hookline db grants` prints one"
        )


def _check_functions(connection: Connection, statement: Statement) -> None:
    """Refuse functions that PostgreSQL calls volatile, but for those known to be harmless."""
    called = {name for one in statement.functions for name in _as_postgres_reads(one)}
    names = {name for one in statement.names for name in _as_postgres_reads(one)} | called
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


def _as_postgres_reads(name: str) -> tuple[str, str]:
    cut = name.encode()[:LONGEST_NAME].decode("utf-8", "ignore")
    return cut, cut.lower()


def _planned(statement: Statement) -> str | None:
    """The query that has a plan: the statement, or the one that it explains."""
    if statement.starter == "EXPLAIN":
        return statement.inner
    return statement.sql if statement.starter in PLANNED else None


def _cost(connection: Connection, sql: str) -> float:
    """The planner's cost of a query. Raises ``Refused`` if its plan changes something."""
    cursor = connection.execute(f"EXPLAIN (FORMAT JSON) {sql}".encode(), prepare=True)
    row = cursor.fetchone()
    plan = json.loads(row[0])[0] if row else {}
    if (node := _changing(plan)) is not None:
        raise Refused(f"PostgreSQL's plan of this has a {node}: it changes or locks something")
    if "Plan" not in plan:
        raise Refused("PostgreSQL has no plan for this, so it is no query")
    return float(plan["Plan"]["Total Cost"])


def _changing(plan: Any) -> str | None:
    """The first node that changes something, at any depth."""
    if isinstance(plan, list):
        return next(filter(None, map(_changing, plan)), None)
    if not isinstance(plan, dict):
        return None
    if plan.get("Node Type") in CHANGING:
        return str(plan["Node Type"])
    return next(filter(None, map(_changing, plan.values())), None)


def _run(connection: Connection, sql: str, limits: Limits) -> Rows:
    """Fetch a result row by row; the extended protocol takes one statement alone."""
    text = sql.encode()
    cursor = connection.cursor()
    source = cursor.stream(text)
    try:
        first = next(source, None)
        if first is None:
            return Rows(_columns(connection, text), ())
        names = [column.name for column in cursor.description or ()]
        return fetched(names, _joined(first, source), limits)
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
def explained(limits: Limits, stop: Stop, late: threading.Event) -> Iterator[None]:
    """Errors of PostgreSQL as sentences."""
    try:
        yield
    except psycopg.Error as error:
        if stop.stopped:
            raise ToolError("the statement was stopped") from None
        if isinstance(error, errors.QueryCanceled) or late.is_set():
            raise ToolError(
                f"the statement took longer than {limits.seconds:g} s and was ended; narrow it down"
            ) from None
        if isinstance(error, errors.LockNotAvailable):
            raise ToolError(
                f"somebody else holds a lock on this; it was waited for {limits.lock_seconds:g} s. "
                "Try again"
            ) from None
        told = _told(error)
        if isinstance(error, errors.ReadOnlySqlTransaction):
            raise Refused(
                f"PostgreSQL does not let a reading transaction do this: {told}"
            ) from None
        raise ToolError(f"PostgreSQL: {told}") from None


def _told(error: psycopg.Error) -> str:
    """The server's words; libpq's for a connection, which hold no password."""
    parts = (error.diag.message_primary, error.diag.message_detail, error.diag.message_hint)
    found = [part.rstrip(".") for part in parts if part]
    return ". ".join(found) or " ".join(str(error).split()) or type(error).__name__
