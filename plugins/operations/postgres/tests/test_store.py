"""The store through its protocol: order, isolation, failures, leases, notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import open_store
from hookline_hookspecs.drivers import Batch, Connection, Migration
from hookline_hookspecs.errors import StoreError

NOTES = Migration(1, "notes", "CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT NOT NULL)")


def add(n: int | None, text: str | None = "x") -> Callable[[Connection], int]:
    return lambda connection: connection.execute(
        "INSERT INTO notes VALUES (:n, :text)", {"n": n, "text": text}
    )


def numbers(connection: Connection) -> list[int]:
    return [row["n"] for row in connection.fetch("SELECT n FROM notes ORDER BY n")]


async def test_writes_of_a_key_keep_order_and_reads_see_them(store: Any) -> None:
    await store.migrate("notes", [NOTES])
    add_row = "INSERT INTO notes SELECT :n, CAST(count(*) AS TEXT) FROM notes WHERE n < 100"
    for n in range(30):
        store.write(lambda db, n=n: db.execute(add_row, {"n": n}), key="a")
        store.write(add(100 + n), key=f"another {n}")
    rows = await store.read(
        lambda db: db.fetch("SELECT n, text FROM notes WHERE n < 100 ORDER BY n"), key="a"
    )
    assert [(row["n"], row["text"]) for row in rows] == [(n, str(n)) for n in range(30)]
    assert len(await store.read(numbers)) == 60


async def test_grouped_writes_share_a_transaction_but_not_failures(store: Any) -> None:
    await store.migrate("notes", [NOTES])

    def fails(connection: Connection) -> None:
        add(1000)(connection)
        raise LookupError("changed my mind")

    works: list[Callable[[Connection], Any]] = [add(n) for n in range(40)]
    works[7:7] = [fails, add(3), add(1001, None), lambda db: None]
    results = await asyncio.gather(*map(store.write, works), return_exceptions=True)
    assert isinstance(results[7], LookupError)
    assert isinstance(results[9], StoreError)  # NOT NULL
    # What met the unique key was run again, after the others.
    failed = [n for n, result in enumerate(results) if isinstance(result, StoreError)]
    assert len(failed) == 2
    assert await store.read(numbers) == list(range(40))


async def test_grouped_batches_share_a_transaction_but_not_failures(store: Any) -> None:
    await store.migrate("notes", [NOTES])

    def rows(*numbers: int | None) -> Batch:
        made = "INSERT INTO notes VALUES (:n, '100% of :n')"
        return Batch([(made, {"n": n}) for n in numbers])

    assert await store.write(rows(1)) is None
    await store.write(rows(2, 3), durable=True)
    works = [rows(4), add(5), rows(6, 7), rows(8, 1), rows(9), add(1), rows(10), Batch([])]
    results = await asyncio.gather(*map(store.write, works), return_exceptions=True)
    assert [n for n, one in enumerate(results) if isinstance(one, StoreError)] == [3, 5]
    assert results[1] == 1
    assert await store.read(numbers) == [1, 2, 3, 4, 5, 6, 7, 9, 10]


async def test_write_that_swallows_its_error_still_fails(store: Any) -> None:
    await store.migrate("notes", [NOTES])

    def hides(connection: Connection) -> str:
        add(1)(connection)
        with suppress(StoreError):
            add(2, None)(connection)  # NOT NULL
        return "all is well"

    with pytest.raises(StoreError):
        await store.write(hides)
    results = await asyncio.gather(
        *map(store.write, [add(3), hides, add(4)]), return_exceptions=True
    )
    assert isinstance(results[1], StoreError)
    with_statements = [add(5), Batch([]), hides]
    results = await asyncio.gather(*map(store.write, with_statements), return_exceptions=True)
    assert isinstance(results[2], StoreError)
    assert await store.read(numbers) == [3, 4, 5]


async def test_batch_returns_row_counts(store: Any) -> None:
    await store.migrate("notes", [NOTES])

    def work(db: Connection) -> list[int]:
        add_one = "INSERT INTO notes VALUES (:n, :text) ON CONFLICT (n) DO NOTHING"
        rows = [{"n": n, "text": "100% of :n; 'so'"} for n in (1, 2, 1)]
        return db.batch([*((add_one, row) for row in rows), ("DELETE FROM notes", {})])

    assert await store.write(work) == [1, 1, 0, 2]
    assert await store.write(lambda db: db.batch([])) == []


async def test_unstorable_characters_are_replaced(store: Any) -> None:
    await store.migrate("notes", [NOTES])
    await store.write(add(1, "a\0b\ud800"))
    [row] = await store.read(lambda db: db.fetch("SELECT text FROM notes"))
    assert row["text"] == "a\ufffdb?"


async def test_sum_returns_a_plain_number(store: Any) -> None:
    sql = "SELECT sum(n) AS whole, sum(n * 0.5) AS half FROM (VALUES (1), (2)) AS v (n)"
    [row] = await store.read(lambda db: db.fetch(sql))
    assert (row["whole"], row["half"]) == (3, 1.5)
    assert isinstance(row["whole"], int)


async def test_read_function_cannot_write(store: Any) -> None:
    await store.migrate("notes", [NOTES])
    with pytest.raises(StoreError, match="read-only"):
        await store.read(add(1))
    assert await store.read(numbers) == []


async def test_concurrent_writes_of_two_stores_are_serializable(
    postgres_url: str, tmp_path: Path
) -> None:
    """At most ten rows, whoever adds them: SERIALIZABLE makes it true without a lock."""

    def add_below_ten(db: Connection) -> int:
        [row] = db.fetch("SELECT count(*) AS n FROM notes")
        return db.execute("INSERT INTO notes (text) VALUES ('x')") if row["n"] < 10 else 0

    async with open_store(tmp_path, postgres_url) as one, open_store(tmp_path, postgres_url) as two:
        await one.migrate("notes", [NOTES])
        for _ in range(3):
            await asyncio.gather(
                *(s.write(add_below_ten, key=str(n)) for n in range(8) for s in (one, two)),
                return_exceptions=True,
            )
        assert len(await two.read(numbers)) == 10


async def test_lease_has_one_owner_and_a_rising_epoch(postgres_url: str, tmp_path: Path) -> None:
    async with open_store(tmp_path, postgres_url) as one, open_store(tmp_path, postgres_url) as two:
        async with one.own("s", 1) as first:
            with pytest.raises(StoreError, match=r"Session s is in use by process \d+"):
                async with two.own("s", 0.2, "Session s"):
                    pass
            with pytest.raises(StoreError, match="s is in use"):
                async with one.own("s", 0):
                    pass
            async with two.own("t", 0) as other:
                assert other.epoch == 1
        async with two.own("s", 5) as second:
            assert (second.key, second.epoch > first.epoch) == ("s", True)


async def test_listen_receives_only_its_topic_from_other_stores(
    postgres_url: str, tmp_path: Path
) -> None:
    async with open_store(tmp_path, postgres_url) as one, open_store(tmp_path, postgres_url) as two:
        await one.notify("a topic", "too early")
        async with one.listen("a topic") as heard, one.listen("b") as other:
            await two.notify("a topic", "first €")
            await one.notify("a topic", "second")
            await two.notify("b", "")
            async with asyncio.timeout(60):
                assert [await anext(heard), await anext(heard)] == ["first €", "second"]
                assert await anext(other) == ""
        with pytest.raises(StoreError, match="longer"):
            await one.notify("a topic", "x" * 7001)
        async with asyncio.timeout(60), one.listen("a topic") as again:
            await two.notify("a topic", "third")
            assert await anext(again) == "third"


async def test_cancelled_listen_holds_no_thread(postgres_url: str, tmp_path: Path) -> None:
    async def listen(store: Any, number: int) -> None:
        async with store.listen(f"topic {number}"):
            await asyncio.Event().wait()

    async with open_store(tmp_path, postgres_url) as store:
        for number in range(60):
            listening = asyncio.create_task(listen(store, number))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            listening.cancel()
        async with asyncio.timeout(30):
            assert await asyncio.to_thread(lambda: "free") == "free"
        last = [asyncio.create_task(listen(store, number)) for number in range(3)]
        await asyncio.sleep(0)
    for task in last:
        task.cancel()
    async with asyncio.timeout(30):
        assert await asyncio.to_thread(lambda: "free") == "free"


async def test_search_ignores_accents_punctuation_and_case(store: Any) -> None:
    sql = store.search_statements("found")
    await store.write(lambda db: db.execute(sql["create"]))
    texts = {"1": "Ünïcödé, docs/Read-me.md", "2": "日本語のテスト", "3": "other"}
    for key, text in texts.items():
        row = {"key": key, "text": store.search_text(text)}
        await store.write(lambda db, row=row: db.execute(sql["put"], row))

    async def hits(query: str) -> list[str]:
        row = {"text": store.search_query(query), "limit": 5}
        rows = await store.read(lambda db: db.fetch(sql["query"], row)) if row["text"] else []
        return [found["key"] for found in rows]

    assert await hits("unicode READ-ME") == ["1"]
    assert await hits("本語") == ["2"]
    assert await hits("'; & | ! (other") == ["3"]
    assert await hits("!!") == []


async def test_failed_migration_changes_nothing_and_newer_database_is_refused(store: Any) -> None:
    await store.migrate("notes", [NOTES])
    broken = Migration(2, "more", "CREATE TABLE more (n REAL); INSERT INTO nowhere VALUES (1)")
    with pytest.raises(StoreError, match=r"Migration 2 \(more\) of notes failed"):
        await store.migrate("notes", [NOTES, broken])
    sql = "SELECT to_regclass('more') AS found"
    assert (await store.read(lambda db: db.fetch(sql)))[0]["found"] is None
    with pytest.raises(StoreError, match="newer than this version"):
        await store.migrate("notes", [])
