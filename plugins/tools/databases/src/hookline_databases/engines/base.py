"""The interface of an engine, and the limits of a statement."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hookline_hookspecs import Refused, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..query_guard import ReadStatement

_SQL = Path(__file__).parent.parent / "sql"
PLANNED_STARTERS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
"""First words of statements that servers plan."""


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """Limits of one statement. ``rows`` and ``size`` (bytes) limit the fetched result, ``cost`` the
    engine's estimate above which it is not run."""

    seconds: float = 15.0
    lock_seconds: float = 2.0
    rows: int = 500
    size: int = 262_144
    cost: float = math.inf


class QueryTooCostly(Refused):
    """The cost of a query is above the limit and was not approved."""

    def __init__(self, cost: float, most: float) -> None:
        super().__init__(
            f"its cost is estimated at {cost:,.0f}; above {most:,.0f} it needs approval"
        )
        self.cost = cost


@dataclass(frozen=True, slots=True)
class ResultRows:
    """A result: ``more`` says why it was not fetched whole, empty if it was."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: str = ""


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table or view. ``columns`` are ``(name, type, note)``; ``rows`` is an estimate or -1."""

    name: str
    kind: str
    columns: tuple[tuple[str, str, str], ...]
    rows: int = -1


@dataclass
class StopSignal:
    """Stops a statement that runs in another thread."""

    _actions: list[Callable[[], object]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: bool = False

    @contextmanager
    def calls(self, action: Callable[[], object]) -> Iterator[None]:
        """While the block runs, :meth:`stop` calls ``action``."""
        with self._lock:
            self._actions.append(action)
            if self.stopped:
                action()
        try:
            yield
        finally:
            with self._lock:
                self._actions.remove(action)

    def stop(self) -> None:
        """Stop the statement."""
        with self._lock:
            self.stopped = True
            for action in self._actions:
                action()


def run_in_thread(work: Callable[[], object]) -> Callable[[], None]:
    """Return a function that starts ``work`` in a thread."""
    return lambda: threading.Thread(target=work, daemon=True).start()


class WriteTransaction(Protocol):
    """A transaction that may write."""

    undoes_structure: bool
    """Whether a rollback undoes changes of structure."""

    mark: str
    """The placeholder of a value in a statement."""
    overriding: str
    """The clause by which an INSERT may set an automatically numbered column."""
    receipt: str
    """The query for an id of the transaction, by which its state can be looked up later; may be
    empty."""
    state_query: str
    """The query for the state of a receipt, ``{}``: ``committed``, ``aborted``, ``in progress`` or
    NULL if unknown."""

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin itself; return the number of rows changed."""

    def undoes(self, table: str) -> bool:
        """Whether a rollback undoes changes of this table's rows."""

    def rows(self, sql: str, limits: StatementLimits) -> ResultRows:
        """Run a query of the plugin itself."""

    def run(self, sql: str) -> int:
        """Run a checked statement; return the number of rows changed, -1 if unknown."""

    def commit(self) -> None:
        """Commit the transaction."""


class DatabaseEngine(Protocol):
    """One database. Its methods block; each opens and closes its own connection.

    They raise ``Refused`` for forbidden statements and ``ToolError`` for failures.
    """

    name: str

    def query(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Run a checked statement in a session in which the engine refuses to write.

        Raises ``QueryTooCostly`` if the estimate is above ``limits.cost``."""

    def cost(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> float | None:
        """Return the engine's estimate of a query's cost; None if it has none."""

    def explain(
        self, statement: ReadStatement, limits: StatementLimits, stop: StopSignal
    ) -> ResultRows:
        """Return the plan of a query without running it."""

    def writing(
        self, limits: StatementLimits, stop: StopSignal
    ) -> AbstractContextManager[WriteTransaction]:
        """A transaction that may write; rolled back at the end of the block unless committed."""

    def tables(self, limits: StatementLimits, stop: StopSignal) -> list[TableInfo]:
        """Return every table and view that the login may read."""

    def probe(self, limits: StatementLimits, stop: StopSignal) -> str:
        """Connect, and return the version, such as ``SQLite 3.40.1``."""


MAX_ROW_BYTES = 64_000_000
"""A larger row stops the statement."""
ROW_TOO_LARGE = (
    "a row of the result is too large; leave out its large columns, or take a part of them with "
    "left() or substring()"
)


def fetch_rows(
    columns: Sequence[str], source: Iterable[Sequence[Any]], limits: StatementLimits
) -> ResultRows:
    """Fetch rows from ``source`` up to the limits."""
    taken: list[tuple[Any, ...]] = []
    size = 0
    for row in source:
        if len(taken) >= limits.rows:
            return ResultRows(tuple(columns), tuple(taken), f"more than {limits.rows:,} rows")
        if (more := sum(_size(value) for value in row)) > MAX_ROW_BYTES:
            raise ToolError(ROW_TOO_LARGE)
        size += more
        taken.append(tuple(_copy_value(value, limits.size) for value in row))
        if size > limits.size:
            return ResultRows(tuple(columns), tuple(taken), f"more than {limits.size:,} bytes")
    return ResultRows(tuple(columns), tuple(taken))


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | bytearray | memoryview) else 8


def _copy_value(value: Any, most: int) -> Any:
    """A copy of the driver's value, cut to ``most``."""
    if isinstance(value, str) and len(value) > most:
        return value[:most]
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value[:most])
    return value


def group_tables(rows: Iterable[Sequence[Any]]) -> list[TableInfo]:
    """Group rows of table, kind, column, type, note and row count into tables."""
    found: dict[str, tuple[str, int, list[tuple[str, str, str]]]] = {}
    for table, kind, column, type_, note, count in rows:
        one = found.setdefault(table, (kind, int(count), []))
        one[2].append((str(column), str(type_), note or ""))
    return [TableInfo(name, one[0], tuple(one[2]), one[1]) for name, one in found.items()]


def planned_query(statement: ReadStatement) -> str | None:
    """Return the query to plan: the statement, or the one that it explains; None for others.

    It is empty for an EXPLAIN without a query, such as that of a table in MySQL.
    """
    if statement.starter == "EXPLAIN":
        return statement.inner
    return statement.sql if statement.starter in PLANNED_STARTERS else None


def query_to_explain(statement: ReadStatement) -> str:
    """Return the query to plan. Raises ``ToolError`` if there is none."""
    if not (planned := planned_query(statement)):
        raise ToolError("only queries have a plan")
    return planned


def check_cost(cost: float, limits: StatementLimits) -> None:
    """Raise ``QueryTooCostly`` for a cost above the limit."""
    if cost > limits.cost:
        raise QueryTooCostly(cost, limits.cost)


def time_limit_error(limits: StatementLimits) -> ToolError:
    """Return the error of a statement that took too long."""
    return ToolError(
        f"the statement took longer than {limits.seconds:g} s and was stopped; narrow it down"
    )


@functools.cache
def query(engine: str, name: str) -> str:
    """Return ``sql/ENGINE/NAME.sql``."""
    return _SQL.joinpath(engine, f"{name}.sql").read_text(encoding="utf-8")
