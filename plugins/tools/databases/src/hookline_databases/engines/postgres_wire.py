"""Connections to PostgreSQL: values as the server writes them, a row size limit, timeouts."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import psycopg
from hookline_hookspecs import ToolError
from psycopg.adapt import AdaptersMap
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import TextLoader

from .base import MAX_ROW_BYTES, ROW_TOO_LARGE, StatementLimits, StopSignal, run_in_thread

T = TypeVar("T")
CONNECT_TIMEOUT = 5
"""Seconds to connect."""
_PAGE = mmap.PAGESIZE
PARSED_TYPES = ("bool", "int2", "int4", "int8", "oid", "float4", "float8", "numeric", "bytea")
"""Types that are converted to Python's; others stay text, so that dates BC and infinity work."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that stops if a row would fill this process's memory."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait as psycopg does, and watch this process's memory."""
        return super().wait(_limit_memory(gen), interval, timeout)


Waiter: TypeAlias = Generator[Any, Any, T]


def _limit_memory(gen: Waiter[T]) -> Waiter[T]:
    """Run ``gen``; raise ``ToolError`` if this process grows by a giant row meanwhile."""
    before = _resident()
    try:
        waiting_for = next(gen)
        while True:
            waiting_for = gen.send((yield waiting_for))
            if _resident() - before > MAX_ROW_BYTES:  # libpq takes a row of up to 1 GB
                gen.close()
                raise ToolError(ROW_TOO_LARGE)
    except StopIteration as end:
        found: T = end.value
        return found


def _resident() -> int:
    """Resident bytes of this process; 0 if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * _PAGE
    except OSError:
        return 0


def _adapters() -> AdaptersMap:
    found = AdaptersMap(psycopg.adapters)
    for info in psycopg.adapters.types:
        if info.name not in PARSED_TYPES:
            found.register_loader(info.oid, TextLoader)
        if info.array_oid:
            found.register_loader(info.array_oid, TextLoader)
    return found


class _Context:
    """Provides the adapters to ``connect``."""

    adapters = _adapters()
    connection = None


@contextmanager
def open_connection(
    url: str, limits: StatementLimits, stop: StopSignal, timed_out: threading.Event
) -> Iterator[Connection]:
    """A connection, closed at the end; statements on it end by timeout or ``stop``."""
    try:
        scheme, _, rest = url.partition("://")
        given = conninfo_to_dict(f"{scheme.partition('+')[0]}://{rest}")
    except psycopg.ProgrammingError:  # its message may contain a part of the password
        raise ToolError(
            "the connection's url cannot be read; in a password, write %40 for @, %3A for :, "
            "%2F for / and %23 for #"
        ) from None
    options: dict[str, Any] = {"application_name": "hookline", "connect_timeout": CONNECT_TIMEOUT}
    options |= {**given, "client_encoding": "utf8"}
    connection = Connection.connect(
        make_conninfo("", **options), autocommit=True, context=_Context()
    )

    def time_out() -> None:
        timed_out.set()
        _cancel(connection)

    timer = threading.Timer(limits.seconds + limits.lock_seconds, time_out)
    timer.daemon = True
    timer.start()
    try:
        with stop.calls(run_in_thread(lambda: _cancel(connection))):
            yield connection
    finally:
        timer.cancel()
        connection.close()


def _cancel(connection: Connection) -> None:
    with suppress(psycopg.Error):
        connection.cancel_safe(timeout=CONNECT_TIMEOUT)
