"""Migrations: order, checksums, versions, backups, faults, two processes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from hookline.store.sqlite import SqliteStore
from hookline_hookspecs.drivers import Migration
from hookline_hookspecs.errors import StoreError

ONE = Migration(
    1,
    "log",
    """
    -- a comment; with a semicolon
    CREATE TABLE log (id INTEGER PRIMARY KEY, text TEXT DEFAULT 'a;b');
    CREATE TABLE changes (n INTEGER); /* and; another */
    CREATE TRIGGER log_added AFTER INSERT ON log BEGIN
        INSERT INTO changes VALUES (new.id);
        INSERT INTO changes VALUES (-new.id);
    END;
    """,
)
TWO = Migration(2, "size", "ALTER TABLE log ADD COLUMN size INTEGER NOT NULL DEFAULT 0")


async def test_migration_steps_run_once_in_order(store: SqliteStore) -> None:
    await store.migrate("log", [TWO, ONE])
    await store.migrate("log", [ONE, TWO])
    await store.write(lambda c: c.execute("INSERT INTO log (id) VALUES (7)"))
    rows = await store.read(lambda c: c.fetch("SELECT text, size FROM log"))
    assert [dict(row) for row in rows] == [{"text": "a;b", "size": 0}]
    changes = await store.read(lambda c: c.fetch("SELECT n FROM changes ORDER BY n"))
    assert [row["n"] for row in changes] == [-7, 7]


async def test_failing_step_changes_nothing_and_earlier_steps_stay(store: SqliteStore) -> None:
    bad = Migration(2, "bad", "CREATE TABLE half (n); CREATE TABLE log (n);")
    with pytest.raises(StoreError, match=r"Migration 2 \(bad\) of log failed and changed nothing"):
        await store.migrate("log", [ONE, bad])
    with pytest.raises(StoreError):
        await store.read(lambda c: c.fetch("SELECT * FROM half"))
    await store.migrate("log", [ONE, TWO])


@pytest.mark.parametrize("sql", ["COMMIT; CREATE TABLE a (n)", "CREATE TABLE a (n); ROLLBACK"])
async def test_step_may_not_end_its_transaction(store: SqliteStore, sql: str) -> None:
    with pytest.raises(StoreError, match="must not end its transaction"):
        await store.migrate("a", [Migration(1, "a", sql)])


async def test_changed_step_is_refused(store: SqliteStore) -> None:
    await store.migrate("log", [ONE])
    changed = Migration(1, "log", ONE.sql + " ")
    with pytest.raises(StoreError, match=r"Migration 1 \(log\) of log was changed"):
        await store.migrate("log", [changed, TWO])
    await store.migrate("log", [Migration(1, "log", ONE.sql.replace("\n", "\r\n"))])


async def test_two_steps_with_one_number_are_refused(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="same number"):
        await store.migrate("log", [ONE, Migration(1, "other", "SELECT 1")])


@pytest.mark.parametrize(
    ("component", "owner"), [("core", "hookline"), ("plugin standup", "plugin standup")]
)
async def test_newer_database_is_refused_and_error_says_what_to_update(
    store: SqliteStore, component: str, owner: str
) -> None:
    await store.migrate(component, [ONE])
    await store.write(lambda c: c.execute("INSERT INTO log (id) VALUES (1)"))
    await store.migrate(component, [ONE, TWO])
    with pytest.raises(
        StoreError, match=rf"newer than this version.*Update {owner}, or restore .*backups"
    ):
        await store.migrate(component, [ONE])


async def test_migration_backs_up_existing_rows_and_keeps_three_backups(store_home: Path) -> None:
    steps = [ONE]
    for number in range(2, 8):
        store = SqliteStore("sqlite", store_home)
        await store.open()
        await store.migrate("log", steps)
        await store.write(lambda c: c.execute("INSERT INTO log DEFAULT VALUES"))
        await store.close()
        steps.append(Migration(number, "more", f"ALTER TABLE log ADD COLUMN c{number}"))
    copies = sorted((store_home / "backups").iterdir())
    assert len(copies) == 3
    with closing(sqlite3.connect(copies[-1])) as copy, copy:
        assert copy.execute("SELECT count(*) FROM log").fetchone() == (5,)
        assert copy.execute("SELECT max(number) FROM migrations").fetchone() == (5,)
    copy.close()
    assert (store_home / "backups").stat().st_mode & 0o77 == 0
    assert all(path.stat().st_mode & 0o77 == 0 for path in copies)


async def test_database_created_by_this_process_is_not_backed_up(
    store: SqliteStore, store_home: Path
) -> None:
    await store.migrate("log", [ONE])
    await store.migrate("text", [Migration(1, "t", store.search_statements("words")["create"])])
    await store.migrate("log", [ONE, TWO])
    assert not (store_home / "backups").exists()


@pytest.fixture
async def next_store(store: SqliteStore, store_home: Path) -> AsyncIterator[SqliteStore]:
    """A store of the next process, which finds a database with rows."""
    await store.migrate("log", [ONE])
    await store.write(lambda c: c.execute("INSERT INTO log DEFAULT VALUES"))
    await store.close()
    next_store = SqliteStore("sqlite", store_home)
    await next_store.open()
    yield next_store
    await next_store.close()


async def test_components_in_one_upgrade_share_a_backup(
    next_store: SqliteStore, store_home: Path
) -> None:
    for component in ("a", "b", "c"):
        table = Migration(1, component, f"CREATE TABLE {component} (n)")
        await next_store.migrate(component, [table])
    assert len(list((store_home / "backups").iterdir())) == 1


async def test_migration_is_refused_if_the_backup_fails(
    next_store: SqliteStore, store_home: Path
) -> None:
    (store_home / "backups").write_text("a file where the folder should be")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"Nothing was changed.*cannot be written"):
            await next_store.migrate("log", [ONE, TWO])
    with pytest.raises(StoreError):
        await next_store.read(lambda c: c.fetch("SELECT size FROM log"))


FAMILY = Migration(
    1,
    "family",
    """
    CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (id INTEGER REFERENCES parent (id) ON DELETE CASCADE);
    """,
)


async def test_table_rebuild_keeps_referencing_rows(store: SqliteStore) -> None:
    rebuild = """
    CREATE TABLE parent_new (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO parent_new (id) SELECT id FROM parent;
    DROP TABLE parent;
    ALTER TABLE parent_new RENAME TO parent;
    """
    await store.migrate("family", [FAMILY])
    await store.write(lambda c: c.execute("INSERT INTO parent VALUES (1)"))
    await store.write(lambda c: c.execute("INSERT INTO child VALUES (1)"))
    await store.migrate("family", [FAMILY, Migration(2, "rebuild", rebuild)])
    assert len(await store.read(lambda c: c.fetch("SELECT * FROM child"))) == 1
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        await store.write(lambda c: c.execute("INSERT INTO child VALUES (99)"))


async def test_step_that_leaves_a_dangling_reference_fails(store: SqliteStore) -> None:
    await store.migrate("family", [FAMILY])
    broken = Migration(2, "broken", "INSERT INTO child VALUES (99)")
    with pytest.raises(StoreError, match="refer to rows that do not exist"):
        await store.migrate("family", [FAMILY, broken])
    assert not await store.read(lambda c: c.fetch("SELECT * FROM child"))


async def test_two_stores_can_migrate_at_once(store_home: Path) -> None:
    stores = [SqliteStore("sqlite", store_home) for _ in range(4)]
    for store in stores:
        await store.open()
    await asyncio.gather(*(store.migrate("log", [ONE, TWO]) for store in stores))
    for store in stores:
        await store.write(lambda c: c.execute("INSERT INTO log DEFAULT VALUES"))
        await store.close()
