"""MariaDB and MySQL, held to reading by the login and by a READ ONLY session."""

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

from ..guard import Statement
from .base import Costly, Limits, Rows, Stop, Table, fetched, grouped, in_background, query

PLANNED = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
POWERS = re.compile(
    r"\b(ALL PRIVILEGES|FILE|SUPER|SHUTDOWN|CREATE USER|SYSTEM_VARIABLES_ADMIN|SYSTEM_USER)\b"
)
"""Rights on everything that no READ ONLY session holds back."""
CONNECTING = 5
READ_ONLY = (1290, 1792, 1836)
LATE, LOCKED, KILLED = (1969, 3024), (1205, 1222, 3572), (1317, 1927, 2013)
"""Numbers of errors: https://mariadb.com/kb/en/mariadb-error-code-reference/"""


class MySql:
    """The database that ``url`` names."""

    name = "mysql"

    def __init__(self, url: str) -> None:
        self._url = url

    def query(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Run a judged statement; see ``Engine``."""
        with self._reading(limits, stop) as connection:
            check_statement(connection, statement)
            if (planned := _planned(statement)) is not None:
                cost = _cost(connection, planned)
                if cost > limits.cost:
                    raise Costly(cost, limits.cost)
            return streamed(connection, statement.sql, limits)

    def cost(self, statement: Statement, limits: Limits, stop: Stop) -> float | None:
        """Return how many rows would be looked at; see ``Engine``."""
        if (planned := _planned(statement)) is None:
            return None
        with self._reading(limits, stop) as connection:
            check_statement(connection, statement)
            return _cost(connection, planned)

    def explain(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Return the plan as the server's table."""
        planned = _planned(statement)
        if planned is None:
            raise ToolError("only queries have a plan")
        with self._reading(limits, stop) as connection:
            check_statement(connection, statement)
            found = streamed(connection, f"EXPLAIN {planned}", limits)
        return Rows(found.columns, (found.columns, *found.rows), found.more)

    def tables(self, limits: Limits, stop: Stop) -> list[Table]:
        """Return tables and views with their columns, keys and references."""
        with self._reading(limits, stop) as connection:
            return grouped(rows_of(connection, query("mysql", "columns")))

    def probe(self, limits: Limits, stop: Stop) -> str:
        """Connect and judge the login; see ``Engine``."""
        with self._reading(limits, stop) as connection:
            ((version, database, user),) = rows_of(
                connection, "SELECT VERSION(), DATABASE(), CURRENT_USER()"
            )
        kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
        return f"{kind} {version.partition('-')[0]}, database {database or '(none)'} as {user}"

    @contextmanager
    def writing(self, limits: Limits, stop: Stop) -> Iterator[MySqlWriter]:
        """A transaction that writes; see ``Engine``."""
        with connected(self._url, limits, stop) as connection:
            rows_of(connection, "START TRANSACTION")
            yield MySqlWriter(connection)

    @contextmanager
    def _reading(self, limits: Limits, stop: Stop) -> Iterator[pymysql.Connection[Any]]:
        """A session whose every statement is a transaction that only reads."""
        with connected(self._url, limits, stop) as connection:
            rows_of(connection, "SET SESSION TRANSACTION READ ONLY")
            yield connection


class MySqlWriter:
    """A transaction of MariaDB or MySQL; closing the connection rolls it back."""

    undoes_structure = False
    mark, overriding = "%s", ""
    receipt, happened = "", ""

    def __init__(self, connection: pymysql.Connection[Any]) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""
        return "`{}`".format(name.replace("`", "``").replace("%", "%%"))

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin's own making; see ``Writer``."""
        with self._connection.cursor() as cursor:
            return int(cursor.execute(sql, list(values)))

    def undoes(self, table: str) -> bool:
        """Whether the table's engine has transactions, and no trigger reaches another table."""
        return bool(rows_of(self._connection, query("mysql", "undoes"), {"table": table}))

    def rows(self, sql: str, limits: Limits) -> Rows:
        """Run a query; its rows are few."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            return fetched(names, cursor.fetchall(), limits)

    def run(self, sql: str) -> int:
        """Run a statement; an UPDATE counts the rows that it finds."""
        with self._connection.cursor() as cursor:
            return int(cursor.execute(sql))

    def commit(self) -> None:
        """Make it last."""
        self._connection.commit()


@contextmanager
def connected(url: str, limits: Limits, stop: Stop) -> Iterator[pymysql.Connection[Any]]:
    """A session for one login that is no superuser's, within the limits, read as it was judged.

    Raises ``Refused`` and ``ToolError``; the errors of the block become them, too.
    """
    late = threading.Event()
    with explained(limits, stop, late):
        connection = _connect(url, limits)

        def ended() -> None:
            late.set()
            _kill(url, limits, connection)

        clock = threading.Timer(limits.seconds + limits.lock_seconds, ended)
        clock.daemon = True
        clock.start()
        try:
            with stop.by(in_background(lambda: _kill(url, limits, connection))):
                _settle(connection, limits)
                _check_login(connection)
                yield connection
        finally:
            clock.cancel()
            with contextlib.suppress(pymysql.err.Error):
                connection.close()


def _connect(url: str, limits: Limits) -> pymysql.Connection[Any]:
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
        conv=dict(encoders),  # values stay as the server writes them: no date is too early for it
        connect_timeout=CONNECTING,
        read_timeout=math.ceil(limits.seconds + limits.lock_seconds) + 2,
        write_timeout=CONNECTING,
        client_flag=CLIENT.FOUND_ROWS,  # an UPDATE counts what it finds, as elsewhere
        program_name="hookline",
        **secure,
    )


def _settle(connection: pymysql.Connection[Any], limits: Limits) -> None:
    """Bound what follows, and have quotes and signs read as they were judged."""
    ((version,),) = rows_of(connection, "SELECT VERSION()")
    name = "settings_mariadb" if "mariadb" in version.lower() else "settings_mysql"
    rows_of(
        connection,
        query("mysql", name),
        {
            "seconds": limits.seconds,
            "milliseconds": math.ceil(limits.seconds * 1000),
            "lock": max(1, math.ceil(limits.lock_seconds)),
        },
    )


def _check_login(connection: pymysql.Connection[Any]) -> None:
    """Raise ``Refused`` for a login that no READ ONLY session holds back."""
    found: dict[str, None] = {}
    for row in rows_of(connection, "SHOW GRANTS"):
        rights, _, rest = str(row[0]).partition(" ON ")
        if rest.startswith("*.*"):
            found |= dict.fromkeys(POWERS.findall(rights))
    if found:
        raise Refused(
            f"this login is too powerful: it has {', '.join(found)} on everything. Give the "
            "connection a login of its own; `hookline db grants` prints one"
        )


def check_statement(connection: pymysql.Connection[Any], statement: Statement) -> None:
    """Refuse what could not be read as text, and stored functions that may change something."""
    if not statement.parsed:
        raise Refused("this cannot be read as a query, so it is taken for a write")
    if not statement.functions:
        return
    names = tuple({name.lower() for name in statement.functions})
    rows = rows_of(connection, query("mysql", "functions"), {"names": names})
    if rows:
        raise Refused(
            f"the function {rows[0][0]}() may change something. If it only reads, its owner can "
            "say so: ALTER FUNCTION … READS SQL DATA"
        )


def _planned(statement: Statement) -> str | None:
    if statement.starter == "EXPLAIN":
        return statement.inner or None
    return statement.sql if statement.starter in PLANNED else None


def _cost(connection: pymysql.Connection[Any], sql: str) -> float:
    """The rows that a query looks at, as the server estimates: in each SELECT those of one table
    for each of those before it."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchall()
    selects: dict[Any, float] = {}
    for row in rows:
        told = dict(zip(names, row, strict=True))
        selects[told["id"]] = selects.get(told["id"], 1.0) * max(1.0, float(told["rows"] or 1))
    return sum(selects.values())


class _Streaming(SSCursor):  # type: ignore[misc]
    """Rows as they come; one that is left does not read the others first."""

    _result: Any

    def leave(self) -> None:
        """Forget the rest; the connection is of no use any more and has to be closed."""
        if self._result is not None:
            self._result.unbuffered_active = False
            self._result.connection = None
            self._result = None
        self.connection = None


def streamed(connection: pymysql.Connection[Any], sql: str, limits: Limits) -> Rows:
    """Fetch a result row by row, as the last thing on this connection."""
    cursor = _Streaming(connection)
    try:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return fetched(names, cursor.fetchall_unbuffered(), limits)
    finally:
        cursor.leave()


def rows_of(
    connection: pymysql.Connection[Any], sql: str, values: dict[str, Any] | None = None
) -> Sequence[tuple[Any, ...]]:
    """All rows of a statement of the plugin's own."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return found


def _kill(url: str, limits: Limits, running: pymysql.Connection[Any]) -> None:
    """End what runs on a connection, from another one of the same login."""
    with contextlib.suppress(pymysql.err.Error, OSError):
        other = _connect(url, limits)
        with contextlib.closing(other), other.cursor() as cursor:
            cursor.execute("KILL QUERY %s", (running.thread_id(),))


@contextmanager
def explained(limits: Limits, stop: Stop, late: threading.Event) -> Iterator[None]:
    """Errors of the server as sentences."""
    try:
        yield
    except pymysql.err.Error as error:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        text = str(error.args[-1]) if error.args else type(error).__name__
        if stop.stopped:
            raise ToolError("the statement was stopped") from None
        if number in LATE or (late.is_set() and number in KILLED):
            raise ToolError(
                f"the statement took longer than {limits.seconds:g} s and was ended; narrow it down"
            ) from None
        if number in LOCKED:
            raise ToolError(
                "somebody else holds a lock on this; it was waited for "
                f"{max(1, math.ceil(limits.lock_seconds))} s. Try again"
            ) from None
        if number in READ_ONLY:
            raise Refused(f"the server does not do this in a reading session: {text}") from None
        raise ToolError(f"the server says: {text}") from None
