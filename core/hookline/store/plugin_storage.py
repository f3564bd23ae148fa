"""A plugin's own storage: a folder, small values, named queries over its tables, full-text search.

Plugins use it as ``host.storage``. SQL is read and migrations are applied on first use, so that a
plugin that stores nothing costs nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import re
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote
from weakref import WeakSet

from hookline_hookspecs.drivers import Connection, Migration, Store
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.storage import Hit, KeyValue, Row, SearchIndex, Transaction

T = TypeVar("T")

SQL = Path(__file__).parent / "plugin_sql"
"""The migrations and queries of the table ``kv``, which all plugins share."""
_ready: WeakSet[Store] = WeakSet()
"""Stores that have the shared table."""

TABLES = ""
"""The ``plugin`` of values that list the database objects of each plugin.

A value maps names, in the order of their creation, to ``TABLE``, ``VIEW`` or ``FUNCTION``, or to an
empty string if the object was dropped. With this list, purging a plugin needs neither its files nor
a guess by prefix (``web_`` is also a prefix of ``web-ui``'s names)."""

_STATEMENT = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:CREATE\s+(?:UNIQUE\s+|VIRTUAL\s+|TEMP\w*\s+)?(?P<kind>\w+)\s+"
    r"(?:IF\s+NOT\s+EXISTS\s+)?|(?:ALTER|DROP)\s+\w+\s+(?:IF\s+EXISTS\s+)?"
    r'["`\[]?(?P<gone>\w+)["`\]]?\s*(?:;|RENAME\s+TO\s+))(?:["`\[]?(?P<made>\w+))?',
    re.IGNORECASE | re.DOTALL,
)
"""A statement that creates, renames or drops something, after comments."""


async def prepare_storage(store: Store) -> Store:
    """Return ``store`` after creating the shared table if necessary. Raises ``StoreError``."""
    if store not in _ready:
        await store.migrate("storage", _migrations(SQL / "migrations", store.dialect))
        _ready.add(store)
    return store


@dataclass(frozen=True, slots=True)
class StorageUsage:
    """How much a plugin has stored.

    ``tables`` maps its tables to their numbers of rows, and ``values`` is its number of values in
    ``kv``. ``bytes`` is the size of its folder and values; the size of tables is not known.
    """

    tables: Mapping[str, int]
    values: int
    bytes: int


@cache
def _sql() -> Mapping[str, str]:
    return load(SQL, "")


def _get(db: Connection, plugin: str, key: str, default: Any) -> Any:
    rows = db.fetch(_sql()["value"], {"plugin": plugin, "key": key})
    return json.loads(rows[0]["value"]) if rows else default


def _values(db: Connection, plugin: str) -> list[Row]:
    return db.fetch(_sql()["values"], {"plugin": plugin})


def _put(db: Connection, plugin: str, key: str, value: str) -> None:
    row = {"plugin": plugin, "key": key, "value": value, "updated": time.time()}
    db.execute(_sql()["set_value"], row)


def _record(db: Connection, plugin: str, objects: Mapping[str, str]) -> None:
    """Add ``objects`` to the recorded database objects of ``plugin``."""
    before = _get(db, TABLES, plugin, {})
    if before | objects != before:
        _put(db, TABLES, plugin, json.dumps(before | objects))


class _KeyValue:
    """Implements ``KeyValue`` over the table ``kv``."""

    def __init__(self, store: Store, plugin: str) -> None:
        self._store = store
        self._plugin = plugin

    async def get(self, key: str, default: Any = None) -> Any:
        store = await prepare_storage(self._store)
        return await store.read(lambda db: _get(db, self._plugin, key, default))

    async def set(self, key: str, value: Any) -> None:
        text = json.dumps(value)
        store = await prepare_storage(self._store)
        await store.write(lambda db: _put(db, self._plugin, key, text), durable=True)

    async def delete(self, key: str) -> None:
        row = {"plugin": self._plugin, "key": key}
        store = await prepare_storage(self._store)
        await store.write(lambda db: db.execute(_sql()["delete_value"], row), durable=True)

    async def keys(self, prefix: str = "") -> list[str]:
        store = await prepare_storage(self._store)
        rows = await store.read(lambda db: _values(db, self._plugin))
        return sorted(row["key"] for row in rows if row["key"].startswith(prefix))


class _Transaction:
    """Implements ``Transaction``: the plugin's query names on a connection."""

    def __init__(self, connection: Connection, find: Callable[[str], str]) -> None:
        self._connection = connection
        self._find = find

    def fetch(self, name: str, /, **params: Any) -> list[Row]:
        return self._connection.fetch(self._find(name), params)

    def execute(self, name: str, /, **params: Any) -> int:
        return self._connection.execute(self._find(name), params)


class _Search:
    """Implements ``SearchIndex`` over the table ``<plugin>_search``, created on first use."""

    def __init__(self, store: Store, plugin: str, table: str) -> None:
        self._store = store
        self._plugin = plugin
        self._table = table
        self._sql: Mapping[str, str] = {}

    async def _ready(self) -> Mapping[str, str]:
        """Create the table if necessary, and return the statements."""
        if not self._sql:
            await prepare_storage(self._store)
            sql = self._store.search_statements(self._table)
            await self._store.write(lambda db: db.execute(sql["create"]))
            await self._store.write(lambda db: _record(db, self._plugin, {self._table: "TABLE"}))
            self._sql = sql
        return self._sql

    async def put(self, key: str, text: str) -> None:
        sql = await self._ready()
        row = {"key": key, "text": self._store.search_text(text)}
        await self._store.write(lambda db: db.execute(sql["put"], row))

    async def delete(self, key: str) -> None:
        sql = await self._ready()
        await self._store.write(lambda db: db.execute(sql["delete"], {"key": key}))

    async def query(self, text: str, limit: int = 10) -> list[Hit]:
        row = {"text": self._store.search_query(text), "limit": limit}
        if not row["text"]:
            return []
        sql = await self._ready()
        rows = await self._store.read(lambda db: db.fetch(sql["query"], row))
        return [Hit(row["key"], row["score"], row["text"]) for row in rows]


class PluginStorage:
    """Implements the protocol ``Storage`` for one plugin."""

    def __init__(
        self,
        store: Store,
        plugin_name: str,
        package: str | None,
        home: Path,
        *,
        last_migration: int | None = None,
    ) -> None:
        """Create the storage of a plugin.

        ``package`` is the plugin's Python package, with the folders ``sql/`` and ``migrations/``;
        without one, the plugin has no queries or tables.

        ``plugin_name`` may be ``KIND:NAME``, one of several plugins of a kind. Its SQL is written
        with names that start with ``kind_``; when it runs, they start with ``kind__name_``.

        ``last_migration`` is the number of the last migration to apply; None for all.
        """
        self._last_migration = last_migration
        self._store = store
        self._plugin = plugin_name
        self._package = package
        self._written = _prefix(plugin_name.partition(":")[0])
        self._prefix = _prefix(plugin_name.replace(":", "__"))
        self._dir = home / "plugins" / quote(plugin_name, safe="")
        self._queries: dict[str, str] | None = None
        self._preparing = asyncio.Lock()
        self.kv: KeyValue = _KeyValue(store, plugin_name)
        self.search: SearchIndex = _Search(store, plugin_name, f"{self._prefix}search")

    @property
    def dir(self) -> Path:
        """The plugin's own folder; it is created if it does not exist."""
        # `parents=True` ignores the mode for parents, so each folder is created by itself.
        for folder in (self._dir.parent, self._dir):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._dir

    async def fetch(self, name: str, /, **params: Any) -> list[Row]:
        """The rows of a named query, which may write if it has ``RETURNING``."""
        await self.prepare()
        sql = self._find(name)
        writes = re.search(r"\bRETURNING\b", sql, re.IGNORECASE)
        run = self._store.write if writes else self._store.read
        return await run(lambda db: db.fetch(sql, params))

    async def execute(self, name: str, /, **params: Any) -> int:
        """Run a named statement and return the number of affected rows."""
        return await self.transact(lambda transaction: transaction.execute(name, **params))

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run a synchronous function in one transaction and return its result."""
        await self.prepare()
        return await self._store.write(lambda db: work(_Transaction(db, self._find)))

    def submit(self, work: Callable[[Transaction], T]) -> Awaitable[T]:
        """Queue a function as for :meth:`transact`; it is committed with the next writes.

        Raises:
            StoreError: nothing was fetched or written through this storage before.
        """
        if self._queries is None:
            raise StoreError(f"The storage of {self._plugin} is not ready; fetch something first.")
        return self._store.write(lambda db: work(_Transaction(db, self._find)))

    @property
    def changes(self) -> int | None:
        """A number that changes when another process writes the plugin's tables or values.

        It may also change for other reasons. None if the store cannot tell.
        """
        return self._store.changes_of(self._prefix)

    async def usage(self) -> StorageUsage:
        """How much the plugin has stored."""

        def look(db: Connection) -> StorageUsage:
            objects = _get(db, TABLES, self._plugin, {})
            tables = [name for name, kind in objects.items() if kind == "TABLE"]
            count = 'SELECT count(*) AS n FROM "{}"'
            rows = {name: db.fetch(count.format(name))[0]["n"] for name in tables}
            values = [len(row["value"]) for row in _values(db, self._plugin)]
            files = sum(path.lstat().st_size for path in self._dir.rglob("*") if path.is_file())
            return StorageUsage(rows, len(values), sum(values) + files)

        await prepare_storage(self._store)
        return await self._store.read(look)

    async def purge(self) -> None:
        """Permanently delete the plugin's tables, values, migration records and folder."""

        def remove(db: Connection) -> None:
            objects = _get(db, TABLES, self._plugin, {})
            for name in reversed([name for name in objects if objects[name]]):
                db.execute(f'DROP {objects[name]} IF EXISTS "{name}"')
            db.execute(_sql()["purge_values"], {"plugin": self._plugin})
            db.execute(_sql()["purge_migrations"], {"component": f"plugin {self._plugin}"})

        await prepare_storage(self._store)
        await self._store.write(remove, durable=True)
        self._queries = None
        self.search = _Search(self._store, self._plugin, f"{self._prefix}search")
        await asyncio.to_thread(shutil.rmtree, self.dir)

    def _find(self, name: str) -> str:
        queries = self._queries or {}
        if sql := queries.get(name.replace("-", "_")):
            return sql
        names = ", ".join(sorted(name for name in queries if not name.endswith("_cursor")))
        raise StoreError(f"Plugin {self._plugin} has no query {name!r}. It has: {names or 'none'}.")

    async def prepare(self) -> None:
        """Apply migrations and read the queries, once."""
        async with self._preparing:
            if self._queries is not None:
                return
            await prepare_storage(self._store)
            file = importlib.import_module(self._package).__file__ if self._package else None
            folder, dialect = Path(file or "nowhere").parent, self._store.dialect
            queries = load(folder / "sql", dialect) if file else {}
            if file and (steps := _migrations(folder / "migrations", dialect)):
                if self._last_migration is not None:
                    steps = [step for step in steps if step.number <= self._last_migration]
                objects = _objects(self._store, steps, self._plugin, self._written)
                if self._prefix != self._written:
                    prefixes = _PrefixReplacement(self._store, steps, self._written, self._prefix)
                    steps = [replace(step, sql=prefixes.apply(step.sql)) for step in steps]
                    queries = {name: prefixes.apply(sql) for name, sql in queries.items()}
                    objects = {prefixes.apply(name): kind for name, kind in objects.items()}
                await self._store.migrate(f"plugin {self._plugin}", steps)
                await self._store.write(lambda db: _record(db, self._plugin, objects))
            self._queries = queries


def _prefix(plugin: str) -> str:
    """The prefix of the names of a plugin's database objects."""
    return re.sub(r"\W", "_", plugin) + "_"


class _PrefixReplacement:
    """Replaces one prefix by another in the names of a plugin's database objects only."""

    def __init__(self, store: Store, steps: Sequence[Migration], before: str, after: str) -> None:
        statements = (text for step in steps for text in store.statements(step.sql))
        found = filter(None, map(_STATEMENT.match, statements))
        names = {name for match in found for name in match.group("gone", "made") if name}
        self._names = re.compile(rf"\b(?:{'|'.join(names) or '(?!)'})\b", re.IGNORECASE)
        self._before, self._after = before, after

    def apply(self, sql: str) -> str:
        """Replace the prefix in ``sql``."""
        return self._names.sub(lambda name: self._after + name[0][len(self._before) :], sql)


def _migrations(folder: Path, dialect: str) -> list[Migration]:
    """The migrations in order. A file in the dialect's folder replaces one of the same name."""
    steps = []
    places = (folder, folder / dialect)
    files = {path.name: path for place in places for path in place.glob("*.sql")}
    for _, path in sorted(files.items()):
        match = re.fullmatch(r"(\d{4})_([\w-]+)", path.stem)
        if not match:
            raise StoreError(f"{path} is not named like a migration, such as 0001_facts.sql.")
        steps.append(Migration(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    return steps


def _objects(store: Store, steps: Sequence[Migration], plugin: str, prefix: str) -> dict[str, str]:
    """The database objects that ``steps`` create, in the form that is stored under ``TABLES``.

    Raises ``StoreError`` for a statement that names an object of another owner.
    """
    objects: dict[str, str] = {}
    for step in steps:
        for match in filter(None, map(_STATEMENT.match, store.statements(step.sql))):
            for name in filter(None, match.group("gone", "made")):
                if not name.lower().startswith(prefix.lower()):
                    raise StoreError(
                        f"Migration {step.number} ({step.name}) of plugin {plugin} names {name!r}; "
                        f"names of a plugin's objects must start with {prefix!r}. Statement: "
                        f"{' '.join(match.string.split())[:200]}"
                    )
            kind = match["kind"] or objects.get(match["gone"], "")
            if match["gone"] in objects:
                objects[match["gone"]] = ""
            if match["made"] and kind.upper() in ("TABLE", "VIEW", "FUNCTION"):
                objects[match["made"]] = kind.upper()
    return objects


def load(folder: Path, dialect: str) -> dict[str, str]:
    """The named queries in a folder. The dialect's folder replaces queries of the same name."""
    queries: dict[str, str] = {}
    for path in [*sorted(folder.glob("*.sql")), *sorted((folder / dialect).glob("*.sql"))]:
        queries |= _queries(path, path.stat().st_mtime_ns)
    return queries


@cache
def _queries(path: Path, written_at: int) -> Mapping[str, str]:
    """The queries of a file, which is read again only when it has been written."""
    import aiosql

    # aiosql warns about writes without the mark `!`, which work here.
    logging.getLogger("aiosql").setLevel(logging.ERROR)
    found = aiosql.from_path(path, "sqlite3", mandatory_parameters=False, encoding="utf-8")
    return {name: getattr(found, name).sql for name in found.available_queries}
