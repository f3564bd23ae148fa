"""A PostgreSQL connection as the store's functions see it, and its errors as sentences."""

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
from .address import Address

OLDEST = 14
"""The oldest server that is tested: it has ``pg_xact_status`` and generated columns."""
AGAIN = {"40001", "40P01", "55P03"}
"""Serialization failure, deadlock, and a lock that was not to be had (PostgreSQL, appendix A)."""
TAKEN = "23505"
"""Something that is to be unique is there; so looks a transaction at the same moment, too."""
FENCED_CODE = "HLF01"
"""Our own: raised by the function ``hookline_fence`` (see ``setup.sql``)."""
FENCED = (
    "This process was not heard of for so long that others have taken over its work, so nothing "
    "that it writes counts any more. Start it again."
)
STARTING = ("57P03", "53300")
"""The server starts or stops, or all its connections are in use."""

_SENTENCES: Mapping[str, str] = tomllib.loads(
    Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8")
)


class Broken(StoreError):
    """The connection was lost. What its transaction came to is not known if it was ending."""


class Taken(StoreError):
    """Something that is to be unique is there already."""


class Again(Exception):
    """The transaction met another one and can be run again."""


class _Number(FloatLoader):
    """A ``numeric``, such as the sum of integers, as an int or a float."""

    def load(self, data: Any) -> Any:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


def connect(where: Address) -> psycopg.Connection[dict[str, Any]]:
    """Connect. Raises ``Broken`` if it may be tried again, else ``StoreError``."""
    try:
        raw: Any = psycopg.connect(
            where.conninfo,
            autocommit=True,
            cursor_factory=psycopg.ClientCursor,
            row_factory=dict_row,
        )
    except psycopg.Error as error:
        code = _code(error)
        sentence = _SENTENCES.get(code, _SENTENCES["unreachable"])
        told = sentence.format(shown=where.shown, error=_line(error))
        raise (StoreError if code in _SENTENCES and code not in STARTING else Broken)(
            told
        ) from error
    if raw.info.server_version < OLDEST * 10_000:
        version = raw.info.server_version // 10_000
        raw.close()
        raise StoreError(
            f"{where.shown} is PostgreSQL {version}, and Hookline needs {OLDEST} or newer. Move to "
            "a newer server, or say `store: sqlite`."
        )
    raw.adapters.register_loader("numeric", _Number)
    return cast("psycopg.Connection[dict[str, Any]]", raw)


def _code(error: psycopg.Error) -> str:
    """The SQLSTATE of a connection that was refused; psycopg has it only in the text."""
    if error.sqlstate:
        return error.sqlstate
    text = str(error)
    signs = _SENTENCES["signs"]
    return next((code for code, sign in cast("Any", signs).items() if sign in text), "")


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def clean(value: Any) -> Any:
    """``value`` as the database can hold it: no NUL, no half of a surrogate pair, 0 and 1."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return int(value) if isinstance(value, bool) else value


def _cleaned(params: Params) -> dict[str, Any]:
    return {name: clean(value) for name, value in params.items()}


class PgConnection:
    """Implements ``Connection``. Used by one thread at a time.

    What ``begin`` and ``later`` are given goes to the server together with the next statement, so
    that a transaction costs no journeys of its own.
    """

    def __init__(self, where: Address) -> None:
        """Connect. Raises ``StoreError``, which is ``Broken`` if it may be tried again."""
        self._where = where
        self.raw = connect(where)
        self._pending: list[str] = []
        self._begun = 0
        self.first: list[list[dict[str, Any]]] = []
        """What the statements of ``begin`` returned, once they were sent."""
        self.written: set[str] = set()
        """The tables that were written since ``begin`` (see ``dialect.written``)."""

    def begin(self, *first: str) -> None:
        """Put ``first`` before the next statement, in place of what was pending."""
        self._pending = [*first]
        self._begun = len(first)
        self.first = []
        self.written = set()

    @property
    def is_failed(self) -> bool:
        """True if the last statement of the transaction has failed, and what is pending does not
        take it back."""
        in_error = self.raw.info.transaction_status == TransactionStatus.INERROR
        return in_error and not self._pending

    def later(self, sql: str) -> None:
        """Put ``sql`` before the next statement."""
        self._pending.append(sql)

    def fetch(self, sql: str, params: Params = {}) -> list[Mapping[str, Any]]:  # noqa: B006
        """Return the rows of a query."""
        self.written |= dialect.written(sql)
        return cast("list[Mapping[str, Any]]", self.run(dialect.query(sql), params)[-1][0])

    def execute(self, sql: str, params: Params = {}) -> int:  # noqa: B006
        """Run one statement and return the number of rows it affected."""
        self.written |= dialect.written(sql)
        return max(self.run(dialect.query(sql), params)[-1][1], 0)

    def batch(self, statements: Sequence[tuple[str, Params]]) -> list[int]:
        """Run statements in one journey; the rows that each affected."""
        if not statements:
            return []
        found = self.run(";\n".join(self._made(statements)).replace("%", "%%"), {})
        return [max(count, 0) for _, count in found[-len(statements) :]]

    def queue(self, statements: Sequence[tuple[str, Params]]) -> None:
        """Put statements before the next one; what each affected is not told."""
        self._pending += self._made(statements)

    def _made(self, statements: Sequence[tuple[str, Params]]) -> list[str]:
        """The statements with their parameters in them."""
        self.written.update(*(dialect.written(sql) for sql, _ in statements))
        try:
            with psycopg.ClientCursor(self.raw) as cursor:
                return [
                    cursor.mogrify(dialect.query(sql), _cleaned(params))
                    for sql, params in statements
                ]
        except psycopg.Error as error:
            raise self._fault(error, "") from error

    def flush(self) -> None:
        """Send what is pending, without a statement."""
        if self._pending:
            self.run("", {})

    def run(self, sql: str, params: Params) -> list[tuple[list[dict[str, Any]], int]]:
        """Send what is pending and ``sql``, in psycopg's form; rows and count of each statement.

        Raises ``StoreError`` or one of its kinds, or ``Again``.
        """
        pending, self._pending = [one.replace("%", "%%") for one in self._pending], []
        whole = ";\n".join(one for one in (*pending, sql) if one)
        try:
            with self.raw.cursor() as cursor:
                cursor.execute(whole, _cleaned(params))
                found = [
                    (list(result.fetchall()) if result.description else [], result.rowcount)
                    for result in cursor.results()
                ]
        except psycopg.Error as error:
            raise self._fault(error, sql) from error
        if self._begun:
            self.first = [rows for rows, _ in found[: self._begun]]
            self._begun = 0
        return found

    def _fault(self, error: psycopg.Error, sql: str) -> Exception:
        """``error`` as what the store's functions may see."""
        code, shown = error.sqlstate or "", self._where.shown
        if self.raw.closed or self.raw.broken:
            return Broken(f"The connection to {shown} was lost: {_line(error)}.")
        if code in AGAIN:
            return Again(_line(error))
        if code == FENCED_CODE:
            return Fenced(FENCED)
        values = {"shown": shown, "error": _line(error), "sql": " ".join(sql.split())[:200]}
        told = _SENTENCES.get(code, _SENTENCES["refused"]).format(**values).strip()
        return Taken(told) if code == TAKEN else StoreError(told)

    def close(self) -> None:
        """Disconnect; an open transaction is rolled back."""
        self.raw.close()
