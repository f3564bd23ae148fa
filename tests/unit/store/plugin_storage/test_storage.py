"""A plugin's storage: values, queries, migrations, purging."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hookline.store.plugin_storage import PluginStorage, prepare_storage
from hookline_hookspecs import Store
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.storage import Transaction

MIGRATION = """
CREATE TABLE my_facts_fact (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE my_facts_tag (fact INTEGER NOT NULL REFERENCES my_facts_fact (id), tag TEXT);
CREATE INDEX my_facts_by_text ON my_facts_fact (text);
CREATE VIEW IF NOT EXISTS my_facts_tagged AS SELECT tag FROM my_facts_tag;
"""
QUERIES = """
-- name: facts
-- All of them.
SELECT id, text FROM my_facts_fact WHERE text LIKE :like ORDER BY id;

-- name: add-fact
INSERT INTO my_facts_fact (text) VALUES (:text);

-- name: add_returning
INSERT INTO my_facts_fact (text) VALUES (:text) RETURNING id;

-- name: tag
INSERT INTO my_facts_tag VALUES (:fact, :tag);

-- name: which
SELECT 'general' AS which;
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Write a package with SQL files; its import name."""
    made: list[str] = []
    monkeypatch.syspath_prepend(tmp_path)

    def make(name: str, files: dict[str, str]) -> str:
        for path, text in ({"__init__.py": ""} | files).items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        made.append(name)
        return name

    yield make
    for name in made:
        sys.modules.pop(name, None)


@pytest.fixture
async def ready(store: Store) -> Store:
    await prepare_storage(store)
    await prepare_storage(store)
    return store


@pytest.fixture
def facts(ready: Store, store_home: Path, package: Callable[..., str]) -> PluginStorage:
    name = package(
        "my_facts_package",
        {
            "migrations/0001_facts.sql": MIGRATION,
            "sql/facts.sql": QUERIES,
            "sql/sqlite/facts.sql": "-- name: which\nSELECT 'sqlite' AS which;",
        },
    )
    return PluginStorage(ready, "my-facts", name, store_home)


async def test_kv_stores_json_per_plugin_with_sorted_keys(ready: Store, store_home: Path) -> None:
    one, other = (PluginStorage(ready, name, None, store_home).kv for name in ("one", "other"))
    value = {"list": [1, 2.5, None, True], "text": "é\ud800"}
    await one.set("b%", value)
    await one.set("a", 1)
    await one.set("a", 2)
    await other.set("a", "theirs")
    assert await one.get("b%") == value
    assert await one.get("a") == 2
    assert await one.get("c", "default") == "default"
    assert await one.keys() == ["a", "b%"]
    assert await one.keys("b%") == ["b%"]
    assert await one.keys("%") == []
    await one.delete("a")
    await one.delete("a")
    assert await one.get("a") is None
    assert await other.get("a") == "theirs"


async def test_named_queries_run_on_the_plugin_tables(facts: PluginStorage) -> None:
    assert await facts.execute("add-fact", text="one") == 1
    assert await facts.execute("add_fact", text="two") == 1
    assert [dict(row) for row in await facts.fetch("add_returning", text="three")] == [{"id": 3}]
    assert [row["text"] for row in await facts.fetch("facts", like="t%")] == ["two", "three"]


@pytest.mark.sqlite
async def test_dialect_query_replaces_the_general_one(facts: PluginStorage) -> None:
    assert [row["which"] for row in await facts.fetch("which")] == ["sqlite"]


async def test_transaction_is_all_or_nothing(facts: PluginStorage) -> None:
    def work(transaction: Transaction) -> int:
        transaction.execute("add_fact", text="kept")
        return len(transaction.fetch("facts", like="%"))

    def fails(transaction: Transaction) -> None:
        transaction.execute("add_fact", text="lost")
        raise LookupError

    assert await facts.transact(work) == 1
    with pytest.raises(LookupError):
        await facts.transact(fails)
    assert [row["text"] for row in await facts.fetch("facts", like="%")] == ["kept"]


async def test_unknown_query_error_lists_known_queries(facts: PluginStorage) -> None:
    with pytest.raises(StoreError, match=r"my-facts has no query 'nope'.*add_fact.*which"):
        await facts.fetch("nope")


async def test_storage_first_used_by_many_tasks_at_once(facts: PluginStorage) -> None:
    await asyncio.gather(*(facts.execute("add_fact", text=str(n)) for n in range(20)))
    assert len(await facts.fetch("facts", like="%")) == 20


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE sessions (n)",
        'create  table if not exists "facts" (n)',
        "/* my_bad_x */ -- note\n CREATE UNIQUE INDEX fast ON my_bad_t (n)",
        "CREATE TRIGGER t AFTER INSERT ON my_bad_t BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
        "CREATE TABLE main.words (n)",
        "CREATE TABLE my_badly (n)",
        "ALTER TABLE my_bad_t RENAME TO sessions",
        "DROP TABLE kv",
    ],
)
async def test_plugin_may_create_only_tables_with_its_prefix(
    ready: Store, store_home: Path, package: Callable[..., str], statement: str
) -> None:
    sql = f"CREATE TABLE my_bad_t (n);\n{statement};"
    name = package("my_bad_package", {"migrations/0001_bad.sql": sql})
    storage = PluginStorage(ready, "my-bad", name, store_home)
    with pytest.raises(StoreError, match=r"must start with 'my_bad_'. Statement: "):
        await storage.fetch("anything")
    with pytest.raises(StoreError):
        await ready.read(lambda c: c.fetch("SELECT * FROM my_bad_t"))


async def test_migration_with_a_bad_file_name_is_named(
    ready: Store, store_home: Path, package: Callable[..., str]
) -> None:
    name = package("odd_package", {"migrations/first.sql": "SELECT 1"})
    with pytest.raises(
        StoreError, match=r"first\.sql is not named like a migration, such as 0001_"
    ):
        await PluginStorage(ready, "odd", name, store_home).execute("x")


async def test_storage_folder_is_created_on_first_use(ready: Store, store_home: Path) -> None:
    storage = PluginStorage(ready, "notes", None, store_home)
    assert not (store_home / "plugins" / "notes").exists()
    assert storage.dir == store_home / "plugins" / "notes"
    assert storage.dir.stat().st_mode & 0o777 == 0o700


@pytest.mark.sqlite
async def test_usage_and_purge_cover_exactly_the_plugins_data(
    facts: PluginStorage, ready: Store, store_home: Path, package: Callable[..., str]
) -> None:
    await facts.execute("add_fact", text="one")
    await facts.execute("tag", fact=1, tag="t")
    await facts.kv.set("k", "1234")
    await facts.search.put("k", "text")
    (facts.dir / "file").write_bytes(b"x" * 100)
    shorter = PluginStorage(ready, "my", None, store_home)  # my_ is how my_facts_ starts, too
    await shorter.kv.set("k", 1)

    usage = await facts.usage()
    assert usage.tables == {"my_facts_fact": 1, "my_facts_tag": 1, "my_facts_search": 1}
    assert (usage.values, usage.bytes) == (1, 106)

    await shorter.purge()
    assert (await facts.usage()) == usage
    await facts.purge()
    assert (await facts.usage()) == type(usage)({}, 0, 0)
    assert not (store_home / "plugins" / "my-facts").exists()
    left = await ready.read(
        lambda c: c.fetch("SELECT name FROM sqlite_master WHERE name LIKE 'my\\_%' ESCAPE '\\'")
    )
    assert left == []
    await facts.execute("add_fact", text="anew")
    await facts.search.put("k", "anew")
    assert [hit.key for hit in await facts.search.query("anew")] == ["k"]


async def test_purge_works_for_an_uninstalled_plugin(
    facts: PluginStorage, ready: Store, store_home: Path
) -> None:
    await facts.execute("add_fact", text="one")
    await PluginStorage(ready, "my-facts", None, store_home).purge()
    with pytest.raises(StoreError):
        await ready.read(lambda c: c.fetch("SELECT * FROM my_facts_fact"))


@pytest.mark.sqlite
async def test_purge_follows_renamed_and_dropped_tables(
    ready: Store, store_home: Path, package: Callable[..., str]
) -> None:
    sql = """
    CREATE TABLE odd_a (n); CREATE TABLE odd_b (n); CREATE TABLE odd_c (n);
    ALTER TABLE odd_b ADD COLUMN m;
    DROP TABLE odd_c;
    ALTER TABLE "odd_a" RENAME TO odd_d;
    """
    name = package("odd_package", {"migrations/0001_odd.sql": sql, "sql/odd.sql": QUERIES})
    storage = PluginStorage(ready, "odd", name, store_home)
    assert [row["which"] for row in await storage.fetch("which")] == ["general"]
    assert (await storage.usage()).tables == {"odd_b": 0, "odd_d": 0}
    await storage.purge()
    with pytest.raises(StoreError, match="no such table: odd_d"):
        await ready.read(lambda c: c.fetch("SELECT * FROM odd_d"))


NAMED = """
CREATE TABLE my_facts_fact (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE my_facts_fact_old (my_facts_facts TEXT);
CREATE VIEW my_facts_all AS SELECT text AS my_facts_text FROM my_facts_fact;
ALTER TABLE my_facts_fact_old RENAME TO my_facts_kept;
"""
OF_NAMED = """
-- name: add!
INSERT INTO my_facts_fact (text) VALUES (:my_facts_text);

-- name: all_of_them
SELECT my_facts_text, 'my_facts_other' AS other FROM my_facts_all ORDER BY my_facts_text;

-- name: kept
SELECT COUNT(*) AS n FROM "my_facts_kept";
"""


async def test_named_plugins_of_a_kind_share_sql_but_not_data(
    store: Store, tmp_path: Path, package: Callable[..., str]
) -> None:
    module = package("named", {"migrations/0001_a.sql": NAMED, "sql/a.sql": OF_NAMED})
    names = ("my-facts", "my-facts:two", "my-facts:three")
    storages = {name: PluginStorage(store, name, module, tmp_path) for name in names}
    for name, storage in storages.items():
        await storage.execute("add", my_facts_text=name)

    for name, storage in storages.items():
        (row,) = await storage.fetch("all_of_them")
        assert dict(row) == {"my_facts_text": name, "other": "my_facts_other"}
        assert await storage.fetch("kept") == [{"n": 0}]
    usage = await storages["my-facts:two"].usage()
    assert usage.tables == {"my_facts__two_fact": 1, "my_facts__two_kept": 0}

    await storages["my-facts:two"].purge()
    await storages["my-facts"].purge()
    (row,) = await storages["my-facts:three"].fetch("all_of_them")
    assert row["my_facts_text"] == "my-facts:three"
    again = PluginStorage(store, "my-facts:two", module, tmp_path)
    assert await again.fetch("all_of_them") == []
