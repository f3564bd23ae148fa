"""A PostgreSQL connection with the interface of the store's functions, and its error messages."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import psycopg
from hookline_hookspecs.drivers import Params
from hookline_hookspecs.errors import Fenced, StoreError
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.numeric import FloatLoader

from . import dialect
from .address import DatabaseAddress

MIN_SERVER_VERSION = 14
"""The oldest server version that is tested; it has ``pg_xact_status`` and generated columns."""
CONFLICT_CODES = {"40001", "40P01", "55P03"}
"""SQLSTATEs of a serialization failure, a deadlock and an unavailable lock."""
UNIQUE_VIOLATION_CODE = "23505"
"""The SQLSTATE of a unique violation, which may also come from a concurrent transaction."""
FENCED_CODE = "HLF01"
"""Hookline's own SQLSTATE, raised by the function ``hookline_fence`` (see ``setup.sql``)."""
FENCED = (
    "This process was silent for so long that others have taken over its work, so its writes are "
    "refused. Restart it."
)
STARTING_CODES = ("57P03", "53300")
"""SQLSTATEs of a server that is starting, stopping or out of connections."""

_MESSAGES: Mapping[str, str] = tomllib.loads(
    Path(__file__).with_name("error_messages.toml").read_text(encoding="utf-8")
)


class ConnectionLost(StoreError):
    """The connection was lost. If the transaction was ending, its outcome is unknown."""


class UniqueViolation(StoreError):
    """A value that must be unique exists already."""


class TransactionConflict(Exception):
    """The transaction conflicts with another one and can be run again."""


class _NumericLoader(FloatLoader):
    """A ``numeric``, such as the sum of integers, as an int or a float."""

    def load(self, data: Any) -> Any:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


def connect(where: DatabaseAddress) -> psycopg.Connection[dict[str, Any]]:
    """Connect. Raises ``ConnectionLost`` if a retry may succeed, else ``StoreError``."""
    try:
        raw: Any = psycopg.connect(
            where.conninfo,
            autocommit=True,
            cursor_factory=psycopg.ClientCursor,
            row_factory=dict_row,
        )
    except psycopg.Error as error:
        code = _code(error)
        sentence = _MESSAGES.get(code, _MESSAGES["unreachable"])
        message = sentence.format(shown=where.shown, error=_one_line(error))
        is_final = code in _MESSAGES and code not in STARTING_CODES
        raise (StoreError if is_final else ConnectionLost)(message) from error
    if raw.info.server_version < MIN_SERVER_VERSION * 10_000:
        version = raw.info.server_version // 10_000
        raw.close()
        raise StoreError(
            f"{where.shown} is PostgreSQL {version}; Hookline needs {MIN_SERVER_VERSION} or newer. "
            "Use a newer server, or set `store: sqlite`."
        )
    raw.adapters.register_loader("numeric", _NumericLoader)
    return cast("psycopg.Connection[dict[str, Any]]", raw)


def _code(error: psycopg.Error) -> str:
    """The SQLSTATE of a refused connection, which psycopg reports only as text."""
    if error.sqlstate:
        return error.sqlstate
    text = str(error)
    signs = _MESSAGES["signs"]
    return next((code for code, sign in cast("Any", signs).items() if sign in text), "")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def sanitize(value: Any) -> Any:
    """``value`` as the database accepts it: no NUL, no lone surrogates, booleans as 0 and 1."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return int(value) if isinstance(value, bool) else value


def _sanitize_params(params: Params) -> dict[str, Any]:
    return {name: sanitize(value) for name, value in params.items()}


class PgConnection:
    """Implements ``Connection``. Used by one thread at a time.

    Statements given to ``begin`` and ``run_before_next`` are sent together with the next one, so
    that a transaction needs no additional round trips.
    """

    def __init__(self, where: DatabaseAddress) -> None:
        """Connect. Raises ``ConnectionLost`` if a retry may succeed, else ``StoreError``."""
        self._where = where
        self.raw = connect(where)
        self._pending: list[str] = []
        self._begun = 0
        self.first: list[list[dict[str, Any]]] = []
        """The rows that the statements of ``begin`` returned, once they were sent."""
        self.written: set[str] = set()
        """The tables written since ``begin`` (see ``dialect.written_tables``)."""

    def begin(self, *first: str) -> None:
        """Replace pending statements with ``first``, to be sent before the next one."""
        self._pending = [*first]
        self._begun = len(first)
        self.first = []
        self.written = set()

    @property
    def is_failed(self) -> bool:
        """Whether the transaction is in an error state and no rollback is pending."""
        in_error = self.raw.info.transaction_status == TransactionStatus.INERROR
        return in_error and not self._pending

    def run_before_next(self, sql: str) -> None:
        """Send ``sql`` before the next statement."""
        self._pending.append(sql)

    def fetch(self, sql: str, params: Params = {}) -> list[Mapping[str, Any]]:  # noqa: B006
        """Return the rows of a query."""
        self.written |= dialect.written_tables(sql)
        return cast(
            "list[Mapping[str, Any]]", self.run(dialect.translate_query(sql), params)[-1][0]
        )

    def execute(self, sql: str, params: Params = {}) -> int:  # noqa: B006
        """Run one statement and return the number of rows it affected."""
        self.written |= dialect.written_tables(sql)
        return max(self.run(dialect.translate_query(sql), params)[-1][1], 0)

    def batch(self, statements: Sequence[tuple[str, Params]]) -> list[int]:
        """Run statements in one round trip; return the number of rows that each affected."""
        if not statements:
            return []
        found = self.run(";\n".join(self._with_params(statements)).replace("%", "%%"), {})
        return [max(count, 0) for _, count in found[-len(statements) :]]

    def queue(self, statements: Sequence[tuple[str, Params]]) -> None:
        """Send statements before the next one, without returning their results."""
        self._pending += self._with_params(statements)

    def _with_params(self, statements: Sequence[tuple[str, Params]]) -> list[str]:
        """The statements with their parameters inserted."""
        self.written.update(*(dialect.written_tables(sql) for sql, _ in statements))
        try:
            with psycopg.ClientCursor(self.raw) as cursor:
                return [
                    cursor.mogrify(dialect.translate_query(sql), _sanitize_params(params))
                    for sql, params in statements
                ]
        except psycopg.Error as error:
            raise self._store_error(error, "") from error

    def flush(self) -> None:
        """Send pending statements."""
        if self._pending:
            self.run("", {})

    def run(self, sql: str, params: Params) -> list[tuple[list[dict[str, Any]], int]]:
        """Send pending statements and ``sql``; return the rows and row count of each statement.

        Raises ``StoreError`` or a subclass, or ``TransactionConflict``.
        """
        pending, self._pending = [statement.replace("%", "%%") for statement in self._pending], []
        whole = ";\n".join(statement for statement in (*pending, sql) if statement)
        try:
            with self.raw.cursor() as cursor:
                cursor.execute(whole, _sanitize_params(params))
                found = [
                    (list(result.fetchall()) if result.description else [], result.rowcount)
                    for result in cursor.results()
                ]
        except psycopg.Error as error:
            raise self._store_error(error, sql) from error
        if self._begun:
            self.first = [rows for rows, _ in found[: self._begun]]
            self._begun = 0
        return found

    def _store_error(self, error: psycopg.Error, sql: str) -> Exception:
        """The error that the store's functions get for ``error``."""
        code, shown = error.sqlstate or "", self._where.shown
        if self.raw.closed or self.raw.broken:
            return ConnectionLost(f"The connection to {shown} was lost: {_one_line(error)}.")
        if code in CONFLICT_CODES:
            return TransactionConflict(_one_line(error))
        if code == FENCED_CODE:
            return Fenced(FENCED)
        values = {"shown": shown, "error": _one_line(error), "sql": " ".join(sql.split())[:200]}
        text = _MESSAGES.get(code, _MESSAGES["refused"]).format(**values).strip()
        return UniqueViolation(text) if code == UNIQUE_VIOLATION_CODE else StoreError(text)

    def close(self) -> None:
        """Disconnect; an open transaction is rolled back."""
        self.raw.close()
