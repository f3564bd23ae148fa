"""The row cache, valid until somebody writes, and delayed writes in shared transactions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from hookline_hookspecs import Host, StoreError
from hookline_hookspecs.caching import LaterWrites, RowCache


class Storage:
    """A list of written rows, which may be full; ``changes`` counts writes of others."""

    def __init__(self) -> None:
        self.changes: int | None = 0
        self.rows: list[str] = []
        self.transactions = 0
        self.is_full = False

    async def transact(self, work: Callable[[Any], object]) -> None:
        await asyncio.sleep(0)
        if self.is_full:
            raise StoreError("The disk is full.")
        work(self)
        self.transactions += 1


class Small:
    """The part of a host that the library uses."""

    def __init__(self) -> None:
        self.storage = Storage()
        self.log = logging.getLogger("test")
        self.tasks: list[asyncio.Task[None]] = []

    def spawn(self, work: Coroutine[Any, Any, None], _name: str) -> None:
        self.tasks.append(asyncio.create_task(work))


@pytest.fixture
def host() -> Small:
    return Small()


class Reader:
    """Reads what is there, and counts how often."""

    def __init__(self, host: Small) -> None:
        self._host = host
        self.times = 0
        self.meanwhile: Callable[[], None] = lambda: None

    async def __call__(self) -> list[str]:
        self.times += 1
        found = list(self._host.storage.rows)
        self.meanwhile()
        return found


def make_cache(host: Small, **options: Any) -> RowCache[str, list[str]]:
    return RowCache(cast(Host, host), **options)


async def test_row_cache_reads_rows_once_until_a_write(host: Small) -> None:
    rows, read = make_cache(host), Reader(host)
    assert await rows.get("a", read) == await rows.get("a", read) == []
    assert read.times == 1
    host.storage.rows.append("theirs")
    host.storage.changes = 1
    assert await rows.get("a", read) == ["theirs"]
    rows.forget()
    assert await rows.get("a", read) == ["theirs"]
    assert read.times == 3


async def test_row_cache_drops_rows_read_during_a_write(host: Small) -> None:
    rows, read = make_cache(host), Reader(host)
    read.meanwhile = rows.forget
    await rows.get("a", read)
    await rows.get("a", read)
    assert read.times == 2


async def test_row_cache_keeps_nothing_if_the_store_cannot_report_changes(host: Small) -> None:
    host.storage.changes = None
    rows, read = make_cache(host), Reader(host)
    await rows.get("a", read)
    await rows.get("a", read)
    assert read.times == 2


async def test_row_cache_evicts_least_used_rows(host: Small) -> None:
    rows, read = make_cache(host, most=2), Reader(host)
    for key in ("a", "b", "a", "c", "a", "b"):
        await rows.get(key, read)
    assert read.times == 4


def delayed_writes(
    host: Small, seconds: float = 1000.0
) -> tuple[LaterWrites, Callable[[str], None]]:
    later = LaterWrites(cast(Host, host), seconds)
    return later, lambda row: later.add(lambda db: cast(Any, db).rows.append(row))


async def test_delayed_writes_share_a_transaction_in_order(host: Small) -> None:
    later, write = delayed_writes(host)
    for row in "abc":
        write(row)
    await asyncio.sleep(0)
    assert host.storage.rows == []
    await later.flush()
    await later.flush()
    assert (host.storage.rows, host.storage.transactions) == (["a", "b", "c"], 1)


async def test_delayed_writes_are_flushed_automatically(host: Small) -> None:
    _, write = delayed_writes(host, 0.01)
    for row in "ab":
        write(row)
        while not host.storage.rows or host.storage.rows[-1] != row:
            await asyncio.sleep(0.001)
    assert host.storage.rows == ["a", "b"]


async def test_delayed_write_added_during_a_flush_is_written_next(host: Small) -> None:
    later, write = delayed_writes(host)
    write("a")
    flushing = asyncio.create_task(later.flush())
    await asyncio.sleep(0)
    write("b")
    await flushing
    await later.flush()
    assert host.storage.rows == ["a", "b"]


async def test_delayed_writes_are_retried_after_a_full_disk(
    host: Small, caplog: pytest.LogCaptureFixture
) -> None:
    later, write = delayed_writes(host)
    host.storage.is_full = True
    write("a")
    await later.flush()
    assert "will retry: The disk is full." in caplog.text
    host.storage.is_full = False
    write("b")
    await later.flush()
    assert host.storage.rows == ["a", "b"]


async def test_invalid_delayed_write_is_not_retried(host: Small) -> None:
    later, write = delayed_writes(host)
    later.add(lambda db: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await later.flush()
    write("b")
    await later.flush()
    assert host.storage.rows == ["b"]
