"""Database snapshots: consistent, private, made beside readers and writers."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import open_store
from hookline_hookspecs import StoreError
from hookline_hookspecs.drivers import Migration

STEP = Migration(1, "0001_notes.sql", "CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT);")
ADD = "INSERT INTO notes (n, text) VALUES (:n, :text)"


def rows(db: Any) -> list[int]:
    return [row["n"] for row in db.fetch("SELECT n FROM notes ORDER BY n")]


def add(store: Any, number: int) -> Any:
    return store.write(lambda db: db.execute(ADD, {"n": number, "text": "x" * 2000}))


async def test_snapshot_is_a_store_of_its_own(tmp_path: Path) -> None:
    copy = tmp_path / "two" / "hookline.db"
    copy.parent.mkdir()
    async with open_store(tmp_path / "one") as store:
        await store.migrate("notes", [STEP])
        add(store, 1)  # handed over and not awaited
        await store.snapshot(copy)
        await add(store, 2)

    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    async with open_store(copy.parent) as store:
        await store.migrate("notes", [STEP])
        assert await store.read(rows) == [1]
        await add(store, 3)


async def test_snapshot_is_consistent_beside_busy_writers(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.migrate("notes", [STEP])
        written, enough = 0, asyncio.Event()

        async def write() -> None:
            nonlocal written
            while not enough.is_set():
                # Two rows a transaction: no moment has one of them alone.
                two = (2 * written, 2 * written + 1)
                await store.write(
                    lambda db, two=two: [db.execute(ADD, {"n": n, "text": ""}) for n in two]
                )
                written += 1

        writer = asyncio.create_task(write())
        for number in range(3):
            await store.snapshot(tmp_path / f"{number}.db")
        enough.set()
        await writer

    for number in range(3):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as copy:
            found = [n for (n,) in copy.execute("SELECT n FROM notes ORDER BY n")]
            assert found == list(range(len(found)))
            assert len(found) % 2 == 0
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("where", ["there.db", "nowhere/copy.db"])
async def test_snapshot_error_names_the_unwritable_path(tmp_path: Path, where: str) -> None:
    (tmp_path / "there.db").write_text("mine")
    async with open_store(tmp_path / "home") as store:
        with pytest.raises(StoreError, match="cannot be created") as caught:
            await store.snapshot(tmp_path / where)
    assert str(tmp_path / where) in str(caught.value)
    assert (tmp_path / "there.db").read_text() == "mine"


async def test_cancelled_snapshot_leaves_no_file(tmp_path: Path) -> None:
    async with open_store(tmp_path / "home") as store:
        await store.migrate("notes", [STEP])
        await asyncio.gather(*[add(store, number) for number in range(2000)])
        copying = asyncio.create_task(store.snapshot(tmp_path / "copy.db"))
        while not (tmp_path / "copy.db").exists() and not copying.done():
            await asyncio.sleep(0)
        copying.cancel()
        await asyncio.wait([copying])
        assert copying.cancelled()
        assert not (tmp_path / "copy.db").exists()
        assert len(await store.read(rows)) == 2000
