"""What an engine does, and the limits within which it does it."""

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

    from ..guard import Statement

_SQL = Path(__file__).parent.parent / "sql"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one statement; ``rows`` and ``size`` (bytes) of what is fetched of its result, and
    ``cost``, the engine's own estimate, above which it is not run."""

    seconds: float = 15.0
    lock_seconds: float = 2.0
    rows: int = 500
    size: int = 262_144
    cost: float = math.inf


class Costly(Refused):
    """A query whose cost is above the limit, and that no person has allowed."""

    def __init__(self, cost: float, most: float) -> None:
        super().__init__(
            f"its cost is estimated at {cost:,.0f}, and above {most:,.0f} a person is asked first"
        )
        self.cost = cost


@dataclass(frozen=True, slots=True)
class Rows:
    """A result: ``more`` says why it was not fetched whole, empty if it was."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view. ``columns`` are ``(name, type, note)``; ``rows`` is an estimate or -1."""

    name: str
    kind: str
    columns: tuple[tuple[str, str, str], ...]
    rows: int = -1


@dataclass
class Stop:
    """Ends what runs in a thread, from another one."""

    _ways: list[Callable[[], object]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: bool = False

    @contextmanager
    def by(self, way: Callable[[], object]) -> Iterator[None]:
        """While the block runs, ``way`` ends it."""
        with self._lock:
            self._ways.append(way)
            if self.stopped:
                way()
        try:
            yield
        finally:
            with self._lock:
                self._ways.remove(way)

    def now(self) -> None:
        """End it."""
        with self._lock:
            self.stopped = True
            for way in self._ways:
                way()


def in_background(work: Callable[[], object]) -> Callable[[], None]:
    """A way to do ``work`` without waiting for it."""
    return lambda: threading.Thread(target=work, daemon=True).start()


class Writer(Protocol):
    """A transaction that writes."""

    undoes_structure: bool
    """Whether a rollback takes back what changed tables and the like."""

    mark: str
    """What stands for a value in a statement."""
    overriding: str
    """What lets an INSERT give a column that the engine numbers itself its value."""
    receipt: str
    """The query whose only value the engine can be asked about later; empty if there is none."""
    happened: str
    """The query for what became of a receipt, ``{}``: ``committed``, ``aborted``, ``in progress``
    or NULL if that is forgotten."""

    def quoted(self, name: str) -> str:
        """A column's name in quotes."""

    def change(self, sql: str, values: Sequence[Any]) -> int:
        """Run a statement of the plugin's own making; return the number of rows changed."""

    def undoes(self, table: str) -> bool:
        """Whether a rollback takes back what changed the rows of this table."""

    def rows(self, sql: str, limits: Limits) -> Rows:
        """Run a query of the plugin's own making."""

    def run(self, sql: str) -> int:
        """Run a statement that was judged; return the number of rows changed, -1 if not known."""

    def commit(self) -> None:
        """Make it last."""


class Engine(Protocol):
    """One database. Its methods block; each opens a connection of its own and closes it.

    They raise ``Refused`` for what may not be done, and ``ToolError`` for what fails.
    """

    name: str

    def query(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Run a statement that was judged, where the engine refuses to write.

        Raises ``Costly`` where the estimate is above ``limits.cost``."""

    def cost(self, statement: Statement, limits: Limits, stop: Stop) -> float | None:
        """Return the engine's estimate of what a query costs; None where it makes none."""

    def explain(self, statement: Statement, limits: Limits, stop: Stop) -> Rows:
        """Return the plan of a query, which is not run."""

    def writing(self, limits: Limits, stop: Stop) -> AbstractContextManager[Writer]:
        """A transaction that writes; rolled back at the end of the block unless it is committed."""

    def tables(self, limits: Limits, stop: Stop) -> list[Table]:
        """Return every table and view that the login may read."""

    def probe(self, limits: Limits, stop: Stop) -> str:
        """Connect, and return what answers, such as ``SQLite 3.40.1``."""


GIANT = 64_000_000
"""Bytes of the largest row that is looked at."""
TOO_LARGE = (
    "a row of the result is too large; leave out its large columns, or take a part of them with "
    "left() or substring()"
)


def fetched(columns: Sequence[str], source: Iterable[Sequence[Any]], limits: Limits) -> Rows:
    """Take rows from ``source`` up to the limits."""
    taken: list[tuple[Any, ...]] = []
    size = 0
    for row in source:
        if len(taken) >= limits.rows:
            return Rows(tuple(columns), tuple(taken), f"more than {limits.rows:,} rows")
        if (more := sum(_size(value) for value in row)) > GIANT:
            raise ToolError(TOO_LARGE)
        size += more
        taken.append(tuple(_kept(value, limits.size) for value in row))
        if size > limits.size:
            return Rows(tuple(columns), tuple(taken), f"more than {limits.size:,} bytes")
    return Rows(tuple(columns), tuple(taken))


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | bytearray | memoryview) else 8


def _kept(value: Any, most: int) -> Any:
    """A value of its own, not a view on the driver's; a giant one is cut."""
    if isinstance(value, str) and len(value) > most:
        return value[:most]
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value[:most])
    return value


def grouped(rows: Iterable[Sequence[Any]]) -> list[Table]:
    """Tables from rows of table, kind, column, type, note and number of rows."""
    found: dict[str, tuple[str, int, list[tuple[str, str, str]]]] = {}
    for table, kind, column, type_, note, count in rows:
        one = found.setdefault(table, (kind, int(count), []))
        one[2].append((str(column), str(type_), note or ""))
    return [Table(name, one[0], tuple(one[2]), one[1]) for name, one in found.items()]


@functools.cache
def query(engine: str, name: str) -> str:
    """Return ``sql/ENGINE/NAME.sql``."""
    return _SQL.joinpath(engine, f"{name}.sql").read_text(encoding="utf-8")
