"""Change counters: a process learns of writes of others without polling."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import open_store
from hookline_hookspecs.drivers import Migration

NOTES = Migration(1, "notes", "CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT NOT NULL)")
ADD = "INSERT INTO notes (text) VALUES ('x')"


async def eventually(what: Any) -> None:
    async with asyncio.timeout(20):
        while not what():
            await asyncio.sleep(0.01)


async def test_changes_counts_writes_of_others_only(postgres_url: str, tmp_path: Path) -> None:
    async with open_store(tmp_path, postgres_url) as here:
        await here.migrate("notes", [NOTES])
        async with open_store(tmp_path / "there", postgres_url) as there:
            await eventually(lambda: None not in (here.changes, there.changes))
            await asyncio.sleep(0.2)  # what was written so far has been heard
            mine, theirs = here.changes, there.changes
            for _ in range(3):
                await here.write(lambda db: db.execute(ADD))
            await eventually(lambda: there.changes != theirs)
            assert here.changes == mine
            await there.write(lambda db: db.execute(ADD), durable=True)
            await eventually(lambda: here.changes != mine)


@pytest.mark.slow
async def test_changes_is_none_while_disconnected(own_postgres: Any, tmp_path: Path) -> None:
    async with open_store(tmp_path, own_postgres.url) as store:
        await eventually(lambda: store.changes is not None)
        before = store.changes
        own_postgres.stop()
        await eventually(lambda: store.changes is None)
        own_postgres.start()
        await eventually(lambda: store.changes is not None)
        assert store.changes != before  # something may have been missed


async def test_changes_of_counts_by_plugin(postgres_url: str, tmp_path: Path) -> None:
    pens = Migration(1, "pens", "CREATE TABLE pens (n INTEGER PRIMARY KEY)")
    core = Migration(1, "usage", "CREATE TABLE usage (n INTEGER PRIMARY KEY)")
    async with open_store(tmp_path, postgres_url) as here:
        for one in (NOTES, pens, core):
            await here.migrate(one.name, [one])
        async with open_store(tmp_path / "there", postgres_url) as there:
            await eventually(lambda: there.changes is not None)
            await asyncio.sleep(0.2)  # what was written so far has been heard
            notes, any_ = there.changes_of("note"), there.changes
            await here.write(lambda db: db.execute("INSERT INTO usage VALUES (1)"))
            await here.write(lambda db: db.execute("-- one\nINSERT INTO pens VALUES (1)"))
            await eventually(lambda: there.changes_of("pens") == any_ + 1)
            assert there.changes_of("note") == notes
            assert there.changes == any_ + 1  # of core's own tables nothing is told
            update = "WITH old AS (SELECT 1) UPDATE notes SET text = 'y'"
            await here.write(lambda db: db.batch([(update, {}), ("DELETE FROM notes", {})]))
            await eventually(lambda: there.changes_of("note") == notes + 1)
            assert there.changes_of("pens") == any_ + 1
            await here.write(lambda db: db.execute("CREATE TABLE more (n BIGINT)"))
            await eventually(lambda: there.changes_of("note") == notes + 2)
