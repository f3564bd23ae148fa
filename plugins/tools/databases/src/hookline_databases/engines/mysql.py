"""MariaDB and MySQL, made read-only by the login and a READ ONLY session."""

from __future__ import annotations

import contextlib
import math
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from hookline_hookspecs import Refused, ToolError
from pymysql.constants import CLIENT
from pymysql.converters import encoders
from pymysql.cursors import SSCursor

from ..query_guard import ReadStatement
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
    run_in_thread,
    time_limit_error,
)

POWERFUL_RIGHTS = re.compile(
    r"\b(ALL PRIVILEGES|FILE|SUPER|SHUTDOWN|CREATE USER|SYSTEM_VARIABLES_ADMIN|SYSTEM_USER)\b"
)
"""Global rights that a READ ONLY session does not restrict."""
CONNECT_TIMEOUT = 5
READ_ONLY_ERRORS = (1290, 1792, 1836)
TIMEOUT_ERRORS = (1969, 3024)
LOCK_ERRORS = (1205, 1222, 3572)
KILLED_ERRORS = (1317, 1927, 2013)
"""Numbers of errors: https://mariadb.com/kb/en/mariadb-error-code-reference/"""


class MySql:
    """The database that ``url`` names."""

    name = "mysql"

    def __init__(self, url: str) -> None:
        self._url = url

    def query(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Run a checked statement; see ``DatabaseEngine``."""
        with self._reading(limits, stop) as connection:
            check_statement(connection, statement)
            if planned := planned_query(statement):
                check_cost(_cost(connection, planned), limits)
            return stream_rows(connection, statement.sql, limits)

    def cost(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> float | None:
        """Return how many rows would be looked at; see ``DatabaseEngine``."""
        if not (planned := planned_query(statement)):
            return None
        with self._reading(limits, stop) as connection:
            check_statement(connection, statement)
            return _cost(connection, planned)

    def explain(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Return the plan as the server's table."""
        planned = query_to_explain(statement)
        with self._reading(limits, stop) as connection:
            check_statement(connection, statement)
            found = stream_rows(connection, f"EXPLAIN {planned}", limits)
        return ResultRows(found.columns, (found.columns, *found.rows), found.more)

    def tables(self, limits: StatementLimits, stop: StopSignal) -> list[TableInfo]:
        """Return tables and views with their columns, keys and references."""
        with self._reading(limits, stop) as connection:
            return group_tables(fetch_all(connection, query("mysql", "columns")))

    def probe(self, limits: StatementLimits, stop: StopSignal) -> str:
        """Connect and check the login; see ``DatabaseEngine``."""
        with self._reading(limits, stop) as connection:
            ((version, database, user),) = fetch_all(
                connection, "SELECT VERSION(), DATABASE(), CURRENT_USER()"
            )
        kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
        return f"{kind} {version.partition('-')[0]}, database {database or '(none)'} as {user}"

    @contextmanager
    def writing(self, limits: StatementLimits, stop: StopSignal) -> Iterator[MySqlWriter]:
        """A transaction that may write; see ``DatabaseEngine``."""
        with open_connection(self._url, limits, stop) as connection:
            fetch_all(connection, "START TRANSACTION")
            yield MySqlWriter(connection)

    @contextmanager
    def _reading(
        self, limits: StatementLimits, stop: StopSignal
    ) -> Iterator[pymysql.Connection[Any]]:
        """A session in which every statement is a read-only transaction."""
        with open_connection(self._url, limits, stop) as connection:
            fetch_all(connection, "SET SESSION TRANSACTION READ ONLY")
            yield connection


class MySqlWriter:
    """A transaction of MariaDB or MySQL; closing the connection rolls it back."""

    undoes_structure = False
    mark = "%s"
    overriding = ""
    receipt = ""
    state_query = ""

    def __init__(self, connection: pymysql.Connection[Any]) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""
        return "`{}`".format(name.replace("`", "``").replace("%", "%%"))

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin itself; see ``WriteTransaction``."""
        with self._connection.cursor() as cursor:
            return int(cursor.execute(sql, list(values)))

    def undoes(self, table: str) -> bool:
        """Whether the table's engine has transactions, and no trigger reaches another table."""
        return bool(fetch_all(self._connection, query("mysql", "undoes"), {"table": table}))

    def rows(self, sql: str, limits: StatementLimits) -> ResultRows:
        """Run a query; its rows are few."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            return fetch_rows(names, cursor.fetchall(), limits)

    def run(self, sql: str) -> int:
        """Run a statement; an UPDATE counts the matched rows."""
        with self._connection.cursor() as cursor:
            return int(cursor.execute(sql))

    def commit(self) -> None:
        """Commit the transaction."""
        self._connection.commit()


@contextmanager
def open_connection(
    url: str, limits: StatementLimits, stop: StopSignal
) -> Iterator[pymysql.Connection[Any]]:
    """A session for a login without global rights, within the limits.

    Raises ``Refused`` and ``ToolError``, also for errors in the block.
    """
    timed_out = threading.Event()
    with translate_errors(limits, stop, timed_out):
        connection = _connect(url, limits)

        def time_out() -> None:
            timed_out.set()
            _kill(url, limits, connection)

        timer = threading.Timer(limits.seconds + limits.lock_seconds, time_out)
        timer.daemon = True
        timer.start()
        try:
            with stop.calls(run_in_thread(lambda: _kill(url, limits, connection))):
                _apply_settings(connection, limits)
                _check_login(connection)
                yield connection
        finally:
            timer.cancel()
            with contextlib.suppress(pymysql.err.Error):
                connection.close()


def _connect(url: str, limits: StatementLimits) -> pymysql.Connection[Any]:
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    secure: dict[str, Any] = {"ssl_ca": options["ssl_ca"]} if "ssl_ca" in options else {}
    return pymysql.connect(
        host=parts.hostname or "localhost",
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=unquote(parts.path.lstrip("/")) or None,
        unix_socket=options.get("unix_socket"),
        charset="utf8mb4",
        autocommit=True,
        local_infile=False,
        conv=dict(encoders),  # values stay text, so that every date works
        connect_timeout=CONNECT_TIMEOUT,
        read_timeout=math.ceil(limits.seconds + limits.lock_seconds) + 2,
        write_timeout=CONNECT_TIMEOUT,
        client_flag=CLIENT.FOUND_ROWS,  # an UPDATE counts the matched rows, like the other engines
        program_name="hookline",
        **secure,
    )


def _apply_settings(connection: pymysql.Connection[Any], limits: StatementLimits) -> None:
    """Set the session's timeouts, and how it parses text, as the guard expects."""
    ((version,),) = fetch_all(connection, "SELECT VERSION()")
    name = "settings_mariadb" if "mariadb" in version.lower() else "settings_mysql"
    fetch_all(
        connection,
        query("mysql", name),
        {
            "seconds": limits.seconds,
            "milliseconds": math.ceil(limits.seconds * 1000),
            "lock": max(1, math.ceil(limits.lock_seconds)),
        },
    )


def _check_login(connection: pymysql.Connection[Any]) -> None:
    """Raise ``Refused`` for a login that a READ ONLY session does not restrict."""
    found: dict[str, None] = {}
    for row in fetch_all(connection, "SHOW GRANTS"):
        rights, _, rest = str(row[0]).partition(" ON ")
        if rest.startswith("*.*"):
            found |= dict.fromkeys(POWERFUL_RIGHTS.findall(rights))
    if found:
        raise Refused(
            f"this login is too powerful: it has {', '.join(found)} on everything. Give the "
            "connection its own login; `hookline db grants` prints one"
        )


def check_statement(connection: pymysql.Connection[Any], statement: ReadStatement) -> None:
    """Refuse unparsed statements, and stored functions that may change something."""
    if not statement.parsed:
        raise Refused("this cannot be parsed as a query, so it counts as a write")
    if not statement.functions:
        return
    names = tuple({name.lower() for name in statement.functions})
    rows = fetch_all(connection, query("mysql", "functions"), {"names": names})
    if rows:
        raise Refused(
            f"the function {rows[0][0]}() may change something. If it only reads, its owner can "
            "say so: ALTER FUNCTION … READS SQL DATA"
        )


def _cost(connection: pymysql.Connection[Any], sql: str) -> float:
    """The server's estimate of the rows that a query reads: for each SELECT the product over its
    tables."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchall()
    selects: dict[Any, float] = {}
    for row in rows:
        row_by_name = dict(zip(names, row, strict=True))
        selects[row_by_name["id"]] = selects.get(row_by_name["id"], 1.0) * max(
            1.0, float(row_by_name["rows"] or 1)
        )
    return sum(selects.values())


class _Streaming(SSCursor):  # type: ignore[misc]
    """Unbuffered rows, of which the rest can be dropped."""

    _result: Any

    def leave(self) -> None:
        """Drop the rest; the connection can then only be closed."""
        if self._result is not None:
            self._result.unbuffered_active = False
            self._result.connection = None
            self._result = None
        self.connection = None


def stream_rows(
    connection: pymysql.Connection[Any], sql: str, limits: StatementLimits
) -> ResultRows:
    """Fetch a result row by row, as the last statement on this connection."""
    cursor = _Streaming(connection)
    try:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return fetch_rows(names, cursor.fetchall_unbuffered(), limits)
    finally:
        cursor.leave()


def fetch_all(
    connection: pymysql.Connection[Any], sql: str, values: dict[str, Any] | None = None
) -> Sequence[tuple[Any, ...]]:
    """All rows of a statement of the plugin itself."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return found


def _kill(url: str, limits: StatementLimits, running: pymysql.Connection[Any]) -> None:
    """Stop the running statement of a connection, from another one of the same login."""
    with contextlib.suppress(pymysql.err.Error, OSError):
        other = _connect(url, limits)
        with contextlib.closing(other), other.cursor() as cursor:
            cursor.execute("KILL QUERY %s", (running.thread_id(),))


@contextmanager
def translate_errors(
    limits: StatementLimits, stop: StopSignal, timed_out: threading.Event
) -> Iterator[None]:
    """Errors of the server as the tool's errors."""
    try:
        yield
    except pymysql.err.Error as error:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        text = str(error.args[-1]) if error.args else type(error).__name__
        if stop.stopped:
            raise ToolError("the statement was stopped") from None
        if number in TIMEOUT_ERRORS or (timed_out.is_set() and number in KILLED_ERRORS):
            raise time_limit_error(limits) from None
        if number in LOCK_ERRORS:
            raise ToolError(
                "another session holds a lock on this; gave up after "
                f"{max(1, math.ceil(limits.lock_seconds))} s. Try again"
            ) from None
        if number in READ_ONLY_ERRORS:
            raise Refused(
                f"the server does not allow this in a read-only session: {text}"
            ) from None
        raise ToolError(f"the server says: {text}") from None
