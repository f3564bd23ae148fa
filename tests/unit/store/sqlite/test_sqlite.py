"""The SQLite store: transactions, group commit, durability, faults, permissions."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hookline.store.sqlite import SqliteStore
from hookline_hookspecs.drivers import Connection, Migration
from hookline_hookspecs.errors import StoreError

NOTES = Migration(1, "notes", "CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT NOT NULL)")


def add(n: int | None, text: str = "x") -> Callable[[Connection], int]:
    return lambda connection: connection.execute(
        "INSERT INTO notes VALUES (:n, :text)", {"n": n, "text": text}
    )


def numbers(connection: Connection) -> list[int]:
    return [row["n"] for row in connection.fetch("SELECT n FROM notes ORDER BY n")]


async def test_read_sees_earlier_writes_even_if_not_awaited(store: SqliteStore) -> None:
    await store.migrate("notes", [NOTES])
    for n in range(50):
        write = store.write(add(n))
        assert n in await store.read(numbers)
        assert await write == 1


async def test_queued_writes_share_a_transaction_but_not_failures(store: SqliteStore) -> None:
    await store.migrate("notes", [NOTES])

    def fails(connection: Connection) -> None:
        add(1000)(connection)
        raise LookupError("changed my mind")

    works: list[Callable[[Connection], Any]] = [add(n) for n in range(40)]
    works[7:7] = [fails, add(3), add(1001, None)]  # type: ignore[arg-type]
    results = await asyncio.gather(*map(store.write, works), return_exceptions=True)
    assert isinstance(results[7], LookupError)
    assert isinstance(results[8], StoreError)  # 3 was there
    assert isinstance(results[9], StoreError)  # NOT NULL
    assert await store.read(numbers) == list(range(40))


async def test_writes_queued_during_a_commit_are_submitted_as_one_batch(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.migrate("notes", [NOTES])
    calls: list[object] = []
    submit, may_end, has_begun = ThreadPoolExecutor.submit, threading.Event(), threading.Event()

    def submitted(pool: ThreadPoolExecutor, *work: Any) -> Any:
        calls.append(work)
        return submit(pool, *work)

    def waits(connection: Connection) -> int:
        has_begun.set()
        may_end.wait(10)
        return add(0)(connection)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submitted)
    first = asyncio.ensure_future(store.write(waits))
    while not has_begun.is_set():
        await asyncio.sleep(0.001)
    others = [asyncio.create_task(_awaited(store, add(n))) for n in range(1, 300)]
    await asyncio.sleep(0)  # all of them wait
    assert len(calls) == 2
    may_end.set()
    assert await asyncio.gather(first, *others) == [1] * 300
    assert await store.read(numbers) == list(range(300))


async def _awaited(store: SqliteStore, work: Callable[[Connection], int]) -> int:
    return await store.write(work)


async def test_writes_happen_in_call_order(store: SqliteStore) -> None:
    await store.migrate("notes", [NOTES])
    writes = [store.write(add(1, "first"))]
    for text in ("second", "third"):
        change = f"UPDATE notes SET text = text || ' {text}'"
        writes.append(store.write(lambda c, change=change: c.execute(change)))  # type: ignore[misc]
    assert await asyncio.gather(*reversed(writes)) == [1, 1, 1]
    [row] = await store.read(lambda c: c.fetch("SELECT text FROM notes"))
    assert row["text"] == "first second third"


async def test_single_failing_write_is_rolled_back(store: SqliteStore) -> None:
    await store.migrate("notes", [NOTES])

    def fails(connection: Connection) -> None:
        add(1)(connection)
        next(iter(()))

    with pytest.raises(RuntimeError, match="ran out of items"):
        await store.write(fails)
    assert await store.read(numbers) == []


async def test_cancelled_caller_does_not_cancel_the_write(store: SqliteStore) -> None:
    await store.migrate("notes", [NOTES])
    started, proceed = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        started.set()
        proceed.wait(10)
        add(1)(connection)

    async def caller() -> None:
        await store.write(slow)

    task = asyncio.create_task(caller())
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    proceed.set()
    assert await store.read(numbers) == [1]


async def test_close_finishes_pending_writes(store_home: Path) -> None:
    store = SqliteStore("sqlite", store_home)
    await store.open()
    await store.migrate("notes", [NOTES])
    writes = [store.write(add(n)) for n in range(30)]
    await store.close()
    assert await asyncio.gather(*writes) == [1] * 30
    with pytest.raises(StoreError, match="not open"):
        await store.write(add(99))
    await store.open()
    assert await store.read(numbers) == list(range(30))
    await store.close()


async def test_rows_are_mappings_and_execute_returns_affected_rows(store: SqliteStore) -> None:
    await store.migrate("notes", [NOTES])

    def work(connection: Connection) -> tuple[int, int, int]:
        added = connection.execute("INSERT INTO notes VALUES (1, 'a'), (2, 'b') RETURNING n")
        changed = connection.execute("UPDATE notes SET text = 'c'")
        return added, changed, connection.execute("DELETE FROM notes WHERE n > 5")

    assert await store.write(work) == (2, 2, 0)
    rows = await store.read(lambda c: c.fetch("SELECT n, text FROM notes"))
    assert [dict(row) for row in rows] == [{"n": 1, "text": "c"}, {"n": 2, "text": "c"}]


async def test_read_has_one_snapshot_and_cannot_write(store: SqliteStore, store_home: Path) -> None:
    await store.migrate("notes", [NOTES])
    with pytest.raises(StoreError):
        await store.read(add(1))
    began, proceed = threading.Event(), threading.Event()

    def twice(connection: Connection) -> tuple[list[int], list[int]]:
        before = numbers(connection)
        began.set()
        proceed.wait(10)
        return before, numbers(connection)

    reading = asyncio.create_task(store.read(twice))
    await asyncio.to_thread(began.wait, 10)
    await store.write(add(1))
    proceed.set()
    assert await reading == ([], [])
    assert await store.read(numbers) == [1]


async def test_only_batches_with_a_durable_write_are_flushed(store_home: Path) -> None:
    seen: list[str] = []

    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(*args, **kwargs)
        connection.set_trace_callback(seen.append)
        return connection

    store = SqliteStore("sqlite", store_home, connect)
    await store.open()
    await store.migrate("notes", [NOTES])
    for n, durable in enumerate([True, True, False, True]):
        await store.write(add(n), durable=durable)
    await store.close()
    level, levels = "", []
    for statement in seen:
        if "synchronous" in statement.lower():
            level = statement.split("=")[1].strip()
        elif statement.startswith("INSERT INTO notes"):
            levels.append(level)
    assert levels == ["FULL", "FULL", "NORMAL", "FULL"]


async def test_full_disk_gives_an_error_sentence_and_store_recovers(store_home: Path) -> None:
    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(*args, **kwargs)
        connection.execute("PRAGMA max_page_count = 30")
        return connection

    store = SqliteStore("sqlite", store_home, connect)
    await store.open()
    await store.migrate("notes", [NOTES])
    with pytest.raises(StoreError, match=r"disk that holds .*hookline\.db is full"):
        await store.write(add(1, "x" * 500_000))
    big_and_small = [store.write(add(2, "x" * 500_000)), store.write(add(3)), store.write(add(4))]
    results = await asyncio.gather(*big_and_small, return_exceptions=True)
    assert isinstance(results[0], StoreError)
    saved = [n for n, result in zip((2, 3, 4), results, strict=True) if result == 1]
    assert await store.read(numbers) == saved
    await store.write(add(5))
    assert await store.read(numbers) == [*saved, 5]
    await store.close()


class Faulty(sqlite3.Connection):
    """Fails the next statements that start with given words, as a broken disk would."""

    fail: dict[str, int]

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        fail = getattr(self, "fail", {})
        word = next((word for word in fail if sql.startswith(word)), "")
        if fail.get(word, 0) > 0:
            self.fail[word] -= 1
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        return super().execute(sql, *args)


@pytest.mark.parametrize(
    "faults",
    [
        {"BEGIN": 1},
        {"COMMIT": 1},
        {"COMMIT": 1, "ROLLBACK": 1},
        {"PRAGMA synchronous": 1},
        {"RELEASE": 1},
    ],
    ids=str,
)
async def test_failing_commit_fails_only_its_batch(
    store_home: Path, faults: dict[str, int]
) -> None:
    made: list[Faulty] = []

    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        made.append(sqlite3.connect(*args, factory=Faulty, **kwargs))
        return made[-1]

    store = SqliteStore("sqlite", store_home, connect)
    await store.open()
    await store.migrate("notes", [NOTES])
    await store.write(add(0))
    started, proceed = threading.Event(), threading.Event()

    def block(connection: Connection) -> None:
        started.set()
        proceed.wait(10)

    blocker = store.write(block)
    await asyncio.to_thread(started.wait, 10)
    waiting = [store.write(add(n), durable=True) for n in (1, 2, 3)]

    def arm(connection: Connection) -> None:
        made[0].fail = dict(faults)

    armed = store.write(arm, durable=True)
    proceed.set()
    await blocker
    await asyncio.gather(armed, *waiting, return_exceptions=True)
    outcome = await asyncio.gather(store.write(add(4)), store.write(add(5)), return_exceptions=True)
    stored = await store.read(numbers)
    results = [task.exception() is None for task in waiting]
    results += [not isinstance(result, BaseException) for result in outcome]
    assert not all(results)
    assert stored == [0, *(n for n, ok in zip(range(1, 6), results, strict=True) if ok)]
    for task in waiting:
        if error := task.exception():
            assert isinstance(error, StoreError)
            assert str(store_home / "hookline.db") in str(error)
    await store.write(add(6))
    assert (await store.read(numbers))[-1] == 6
    await store.close()


async def test_write_that_ends_its_transaction_fails(store: SqliteStore) -> None:
    await store.migrate("notes", [NOTES])
    with pytest.raises(StoreError, match="ended early"):
        await store.write(lambda connection: connection.execute("ROLLBACK"))
    await store.write(add(1))
    assert await store.read(numbers) == [1]


async def test_database_files_are_private(store: SqliteStore, store_home: Path) -> None:
    await store.migrate("notes", [NOTES])
    assert stat.S_IMODE(store_home.stat().st_mode) == 0o700
    for path in store_home.glob("hookline.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


async def open_at(store_home: Path, **options: Any) -> None:
    store = SqliteStore("sqlite", store_home, **options)
    try:
        await store.open()
    finally:
        await store.close()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
async def test_database_path_that_is_a_folder_or_pipe_is_refused(
    store_home: Path, make: Any
) -> None:
    store_home.mkdir()
    make(store_home / "hookline.db")
    mode = (store_home / "hookline.db").stat().st_mode
    with pytest.raises(
        StoreError, match=r"hookline\.db is not a file but a folder or a pipe. Move it away"
    ):
        await open_at(store_home)
    assert (store_home / "hookline.db").stat().st_mode == mode


async def test_file_that_is_not_a_database_is_refused_and_kept(store_home: Path) -> None:
    store_home.mkdir()
    (store_home / "hookline.db").write_bytes(b"not a database, but a letter" * 100)
    with pytest.raises(StoreError, match=r"hookline\.db is not a SQLite database"):
        await open_at(store_home)
    assert (store_home / "hookline.db").read_bytes().startswith(b"not a database")


async def test_database_of_another_program_is_refused(store_home: Path) -> None:
    store_home.mkdir()
    with closing(sqlite3.connect(store_home / "hookline.db")) as other, other:
        other.execute("CREATE TABLE bookmarks (url)")
    other.close()
    with pytest.raises(StoreError, match="belongs to another program"):
        await open_at(store_home)


async def test_damaged_database_error_says_to_restore(store_home: Path) -> None:
    store = SqliteStore("sqlite", store_home)
    await store.open()
    await store.migrate("notes", [NOTES])
    await asyncio.gather(*(store.write(add(n, "x" * 3000)) for n in range(50)))
    await store.close()
    with (store_home / "hookline.db").open("r+b") as file:
        file.seek(4096 * 4)
        file.write(b"\xff" * 4096 * 20)
    await store.open()
    with pytest.raises(StoreError, match=r"damaged .*restore"):
        await store.read(lambda c: c.fetch("SELECT text FROM notes"))
    await store.close()


async def test_home_that_cannot_be_created_gives_an_error_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written.*permissions"):
        await open_at(tmp_path / "file" / "home")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_read_only_folder_gives_an_error_sentence(store_home: Path) -> None:
    store_home.mkdir(mode=0o500)
    with pytest.raises(StoreError, match=r"cannot be written.*permissions"):
        await open_at(store_home)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (sqlite3.SQLITE_READONLY, "cannot be written"),
        (sqlite3.SQLITE_CANTOPEN, "cannot be opened"),
        (sqlite3.SQLITE_IOERR | (10 << 8), "disk failed"),
        (sqlite3.SQLITE_FULL, "Free some space"),
        (sqlite3.SQLITE_PERM, "cannot be written"),
        (sqlite3.SQLITE_CORRUPT, "is damaged"),
        (sqlite3.SQLITE_BUSY, "Another process kept"),
        (sqlite3.SQLITE_LOCKED, "Another process kept"),
        (sqlite3.SQLITE_MISUSE, "as SQLite puts it"),
    ],
)
async def test_database_open_failures_give_error_sentences(
    store_home: Path, code: int, sentence: str
) -> None:
    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        error = sqlite3.OperationalError("as SQLite puts it")
        error.sqlite_errorcode = code
        raise error

    with pytest.raises(StoreError, match=sentence):
        await open_at(store_home, connect=connect)


async def test_database_locked_too_long_gives_an_error_sentence(store_home: Path) -> None:
    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(*args, **(kwargs | {"timeout": 0.05}))
        return connection

    store = SqliteStore("sqlite", store_home, connect)
    await store.open()
    await store.migrate("notes", [NOTES])
    other = sqlite3.connect(store_home / "hookline.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="Another process kept"):
        await store.write(add(1))
    other.execute("ROLLBACK")
    other.close()
    await store.write(add(2))
    assert await store.read(numbers) == [2]
    await store.close()


def test_store_works_in_successive_event_loops(store_home: Path) -> None:
    store = SqliteStore("sqlite", store_home)
    asyncio.run(store.open())
    asyncio.run(store.migrate("notes", [NOTES]))

    async def write() -> int:
        return await store.write(add(1))

    assert asyncio.run(write()) == 1
    assert asyncio.run(store.read(numbers)) == [1]
    asyncio.run(store.close())


async def test_store_reports_writes_of_other_processes(store_home: Path) -> None:
    here, there = SqliteStore("sqlite", store_home), SqliteStore("sqlite", store_home)
    await here.open()
    await there.open()
    await here.migrate("notes", [NOTES])
    for number in range(3):
        await here.write(add(number))
    before = here.changes
    for number in range(3, 20):
        await here.write(add(number), durable=bool(number % 2))
        await here.read(numbers)
    await there.read(numbers)
    assert here.changes == before  # its own writes, and what others read, are none
    await there.write(add(20))
    seen = here.changes
    assert seen != before  # at once, without a transaction of its own
    assert here.changes == seen
    await here.write(add(21))
    seen = here.changes  # the writing thread hears of it as well, once
    await here.write(add(25))
    assert here.changes == seen
    await asyncio.gather(here.write(add(22)), there.write(add(23)), here.write(add(24)))
    assert here.changes != seen
    await here.close()
    await there.close()
