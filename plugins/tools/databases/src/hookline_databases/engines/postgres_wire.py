"""Connections to PostgreSQL: values as the server writes them, no giant rows, and an end to it."""

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

from .base import GIANT, TOO_LARGE, Limits, Stop, in_background

T = TypeVar("T")
CONNECTING = 5
"""Seconds for connecting."""
_PAGE = mmap.PAGESIZE
PARSED = ("bool", "int2", "int4", "int8", "oid", "float4", "float8", "numeric", "bytea")
"""Types whose values become Python's; the others stay as the server writes them, which no date
before Christ and no infinity breaks."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that ends where a row would fill this process's memory."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait as psycopg does, and look at this process's size."""
        return super().wait(_watched(gen), interval, timeout)


Waiting: TypeAlias = Generator[Any, Any, T]


def _watched(gen: Waiting[T]) -> Waiting[T]:
    """What ``gen`` waits for, as long as this process does not grow by a giant row meanwhile."""
    before = _resident()
    try:
        wants = next(gen)
        while True:
            wants = gen.send((yield wants))
            if _resident() - before > GIANT:  # libpq takes a row of up to 1 GB
                gen.close()
                raise ToolError(TOO_LARGE)
    except StopIteration as end:
        found: T = end.value
        return found


def _resident() -> int:
    """Bytes of this process that are in memory; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * _PAGE
    except OSError:
        return 0


def _adapters() -> AdaptersMap:
    found = AdaptersMap(psycopg.adapters)
    for info in psycopg.adapters.types:
        if info.name not in PARSED:
            found.register_loader(info.oid, TextLoader)
        if info.array_oid:
            found.register_loader(info.array_oid, TextLoader)
    return found


class _Context:
    """What ``connect`` takes the adapters from."""

    adapters = _adapters()
    connection = None


@contextmanager
def connected(url: str, limits: Limits, stop: Stop, late: threading.Event) -> Iterator[Connection]:
    """A connection that is closed in the end; what runs on it ends in time or with ``stop``."""
    try:
        scheme, _, rest = url.partition("://")
        wanted = conninfo_to_dict(f"{scheme.partition('+')[0]}://{rest}")
    except psycopg.ProgrammingError:  # its words may hold a part of the password
        raise ToolError(
            "the connection's url cannot be read; in a password, write %40 for @, %3A for :, "
            "%2F for / and %23 for #"
        ) from None
    own: dict[str, Any] = {"application_name": "hookline", "connect_timeout": CONNECTING}
    own |= {**wanted, "client_encoding": "utf8"}
    connection = Connection.connect(make_conninfo("", **own), autocommit=True, context=_Context())

    def ended() -> None:
        late.set()
        _cancel(connection)

    clock = threading.Timer(limits.seconds + limits.lock_seconds, ended)
    clock.daemon = True
    clock.start()
    try:
        with stop.by(in_background(lambda: _cancel(connection))):
            yield connection
    finally:
        clock.cancel()
        connection.close()


def _cancel(connection: Connection) -> None:
    with suppress(psycopg.Error):
        connection.cancel_safe(timeout=CONNECTING)
