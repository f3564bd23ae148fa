"""A plugin's own storage: a folder, JSON values, named queries over its tables, full text.

Reached as ``host.storage``. SQL is read and migrations are applied when the storage is first used,
so that a plugin which stores nothing costs nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from hookline_hookspecs.drivers import Connection, Migration, Store
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.host import Hit, Row, Transaction

from .store.migrations import statements

T = TypeVar("T")

KV = Migration(
    1,
    "kv",
    """
    CREATE TABLE kv (
        plugin TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, updated REAL NOT NULL,
        PRIMARY KEY (plugin, key));
    CREATE TABLE kv_tables (
        plugin TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
        PRIMARY KEY (plugin, name));
    """,
)
"""``kv_tables`` lists what a plugin's migrations made, so that purging needs no guess by prefix
(``web_`` is also how the tables of ``web-ui`` start) and no files of a plugin that is gone."""

_PUT = """
INSERT INTO kv (plugin, key, value, updated) VALUES (:plugin, :key, :value, :updated)
ON CONFLICT (plugin, key) DO UPDATE SET value = excluded.value, updated = excluded.updated
"""

_NOT_CODE = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_NAME = r"""(?:(?:main|public)\s*\.\s*)?["`\[]?(?P<name>\w+)"""
_OBJECT = re.compile(
    r"\s*(?P<verb>CREATE|ALTER|DROP)\s+(?:(?:UNIQUE|VIRTUAL|TEMP|TEMPORARY|OR\s+REPLACE)\s+)*"
    rf"(?P<kind>TABLE|INDEX|TRIGGER|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?{_NAME}"
    r"""["`\]]?(?:\s+RENAME\s+TO\s+["`\[]?(?P<new>\w+))?""",
    re.IGNORECASE,
)


async def prepare_storage(store: Store) -> None:
    """Make the tables that the plugins' storages share. Raises ``StoreError``."""
    await store.migrate("storage", [KV])


@dataclass(frozen=True, slots=True)
class StorageUsage:
    """What a plugin keeps: ``tables`` with their rows, ``values`` in ``kv``, and ``bytes`` of its
    folder and values (what tables take on disk is not known)."""

    tables: Mapping[str, int]
    values: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _Query:
    sql: str
    writes: bool


class _KeyValue:
    """Implements ``KeyValue`` over the core table ``kv``."""

    def __init__(self, store: Store, plugin: str) -> None:
        self._store = store
        self._plugin = plugin

    async def get(self, key: str, default: Any = None) -> Any:
        rows = await self._fetch(
            "SELECT value FROM kv WHERE plugin = :plugin AND key = :key", key=key
        )
        return json.loads(rows[0]["value"]) if rows else default

    async def set(self, key: str, value: Any) -> None:
        await self._execute(_PUT, key=key, value=json.dumps(value), updated=time.time())

    async def delete(self, key: str) -> None:
        await self._execute("DELETE FROM kv WHERE plugin = :plugin AND key = :key", key=key)

    async def keys(self, prefix: str = "") -> list[str]:
        rows = await self._fetch("SELECT key FROM kv WHERE plugin = :plugin")
        return sorted(row["key"] for row in rows if row["key"].startswith(prefix))

    async def _fetch(self, sql: str, **params: Any) -> list[Row]:
        row = {"plugin": self._plugin} | params
        return await self._store.read(lambda connection: connection.fetch(sql, row))

    async def _execute(self, sql: str, **params: Any) -> None:
        row = {"plugin": self._plugin} | params
        await self._store.write(lambda connection: connection.execute(sql, row), durable=True)


class _Transaction:
    """Implements ``Transaction``: the plugin's query names on a connection."""

    def __init__(self, connection: Connection, find: Callable[[str], _Query]) -> None:
        self._connection = connection
        self._find = find

    def fetch(self, name: str, **params: Any) -> list[Row]:
        return self._connection.fetch(self._find(name).sql, params)

    def execute(self, name: str, **params: Any) -> int:
        return self._connection.execute(self._find(name).sql, params)


class _Search:
    """Implements ``SearchIndex`` over the table ``<plugin>_search``, made on first use."""

    def __init__(self, store: Store, plugin: str, table: str) -> None:
        self._store = store
        self._plugin = plugin
        self._table = table
        self._sql: Mapping[str, str] = {}

    async def _ready(self) -> None:
        if self._sql:
            return
        sql = self._store.search_statements(self._table)

        def create(connection: Connection) -> None:
            connection.execute(sql["create"])
            _remember(connection, self._plugin, [(self._table, "TABLE")])

        await self._store.write(create)
        self._sql = sql

    async def put(self, key: str, text: str) -> None:
        await self._ready()
        row = {"key": key, "text": self._store.search_text(text)}
        await self._store.write(lambda connection: connection.execute(self._sql["put"], row))

    async def delete(self, key: str) -> None:
        await self._ready()
        row = {"key": key}
        await self._store.write(lambda connection: connection.execute(self._sql["delete"], row))

    async def query(self, text: str, limit: int = 10) -> list[Hit]:
        row = {"text": self._store.search_query(text), "limit": limit}
        if not row["text"]:
            return []
        await self._ready()
        rows = await self._store.read(lambda connection: connection.fetch(self._sql["query"], row))
        return [Hit(row["key"], row["score"], row["text"]) for row in rows]


class PluginStorage:
    """Implements the protocol ``Storage`` for one plugin."""

    def __init__(self, store: Store, plugin_name: str, package: str | None, home: Path) -> None:
        """``package`` is the plugin's module; ``sql/`` and ``migrations/`` stand beside its file.
        Without one there are no queries and tables."""
        self._store = store
        self._plugin = plugin_name
        self._package = package
        self._prefix = re.sub(r"\W", "_", plugin_name) + "_"
        self._component = f"plugin {plugin_name}"
        self._dir = home / "plugins" / quote(plugin_name, safe="")
        self._queries: dict[str, _Query] | None = None
        self._preparing = asyncio.Lock()
        self.kv = _KeyValue(store, plugin_name)
        self.search = _Search(store, plugin_name, f"{self._prefix}search")

    @property
    def dir(self) -> Path:
        """The plugin's own folder, made now if it is not there."""
        self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._dir

    async def fetch(self, name: str, **params: Any) -> list[Row]:
        """The rows of a named query; one with ``RETURNING`` may write."""
        query = await self._query(name)
        run = self._store.write if query.writes else self._store.read
        return await run(lambda connection: connection.fetch(query.sql, params))

    async def execute(self, name: str, **params: Any) -> int:
        """Run a named statement; the number of rows it touched."""
        query = await self._query(name)
        return await self._store.write(lambda connection: connection.execute(query.sql, params))

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run a synchronous function in one transaction and return what it returns."""
        await self._prepare()
        return await self._store.write(
            lambda connection: work(_Transaction(connection, self._find))
        )

    async def usage(self) -> StorageUsage:
        """What the plugin keeps, for people."""

        def count(connection: Connection) -> StorageUsage:
            tables = {
                name: connection.fetch(f'SELECT count(*) AS n FROM "{name}"')[0]["n"]  # noqa: S608
                for name, kind in _remembered(connection, self._plugin)
                if kind == "TABLE"
            }
            [values] = connection.fetch(
                "SELECT count(*) AS n, coalesce(sum(length(value)), 0) AS size "
                "FROM kv WHERE plugin = :plugin",
                {"plugin": self._plugin},
            )
            return StorageUsage(tables, values["n"], values["size"] + _size(self._dir))

        return await self._store.read(count)

    async def purge(self) -> None:
        """Remove the plugin's tables, values, migration records and folder, for good."""

        def remove(connection: Connection) -> None:
            for name, kind in reversed(_remembered(connection, self._plugin)):
                connection.execute(f'DROP {kind} IF EXISTS "{name}"')
            row = {"plugin": self._plugin}
            connection.execute("DELETE FROM kv WHERE plugin = :plugin", row)
            connection.execute("DELETE FROM kv_tables WHERE plugin = :plugin", row)
            row = {"component": self._component}
            connection.execute("DELETE FROM migrations WHERE component = :component", row)

        await self._store.write(remove, durable=True)
        self._queries = None
        self.search = _Search(self._store, self._plugin, f"{self._prefix}search")
        if self._dir.exists():
            await asyncio.to_thread(shutil.rmtree, self._dir)

    async def _query(self, name: str) -> _Query:
        await self._prepare()
        return self._find(name)

    def _find(self, name: str) -> _Query:
        queries = self._queries or {}
        try:
            return queries[name.replace("-", "_")]
        except KeyError:
            raise StoreError(
                f"The plugin {self._plugin} has no query {name!r} in its sql folder. It has: "
                f"{', '.join(sorted(queries)) or 'none'}."
            ) from None

    async def _prepare(self) -> None:
        """Apply migrations and read the queries, once."""
        if self._queries is not None:
            return
        async with self._preparing:
            if self._queries is None:
                folder = _folder(self._package)
                steps = _migrations(folder, self._store.dialect) if folder else []
                objects = _objects(steps, self._plugin, self._prefix)
                if steps:
                    await self._store.migrate(self._component, steps)
                    await self._store.write(
                        lambda connection: _remember(connection, self._plugin, objects)
                    )
                self._queries = _load(folder, self._store.dialect) if folder else {}


def _remember(connection: Connection, plugin: str, objects: Iterable[tuple[str, str]]) -> None:
    for name, kind in objects:
        connection.execute(
            "INSERT INTO kv_tables (plugin, place, name, kind) VALUES (:plugin, "
            "(SELECT coalesce(max(place), 0) + 1 FROM kv_tables), :name, :kind) "
            "ON CONFLICT (plugin, name) DO NOTHING",
            {"plugin": plugin, "name": name, "kind": kind},
        )


def _remembered(connection: Connection, plugin: str) -> list[tuple[str, str]]:
    """Names and kinds in the order in which they were made."""
    sql = "SELECT name, kind FROM kv_tables WHERE plugin = :plugin ORDER BY place"
    rows = connection.fetch(sql, {"plugin": plugin})
    return [(row["name"], row["kind"]) for row in rows]


def _folder(package: str | None) -> Path | None:
    file = importlib.import_module(package).__file__ if package else None
    return Path(file).parent if file else None


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def _files(folder: Path, dialect: str) -> list[Path]:
    """The ``.sql`` files of a folder by name; the dialect's folder replaces those of its names."""
    files = {path.name: path for path in folder.glob("*.sql")}
    files |= {path.name: path for path in (folder / dialect).glob("*.sql")}
    return [files[name] for name in sorted(files)]


def _migrations(folder: Path, dialect: str) -> list[Migration]:
    steps = []
    for path in _files(folder / "migrations", dialect):
        match = re.fullmatch(r"(\d{4})_([\w-]+)", path.stem)
        if not match:
            raise StoreError(f"{path} is no migration; call it like 0001_facts.sql.")
        steps.append(Migration(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    return steps


def _objects(steps: Sequence[Migration], plugin: str, prefix: str) -> list[tuple[str, str]]:
    """Tables and views that stand after all ``steps``, in the order of their making.

    Raises ``StoreError`` for a statement that touches what is not the plugin's own.
    """
    objects: dict[str, str] = {}
    for step in steps:
        for statement in statements(step.sql):
            match = _OBJECT.match(_NOT_CODE.sub(lambda found: found[1] or " ", statement))
            if not match:
                continue
            verb, kind = match["verb"].upper(), match["kind"].upper()
            for name in filter(None, (match["name"], match["new"])):
                if not name.lower().startswith(prefix.lower()):
                    raise StoreError(
                        f"Migration {step.number} ({step.name}) of the plugin {plugin} names "
                        f"{name!r}; what a plugin makes must start with {prefix!r}. Statement: "
                        f"{' '.join(statement.split())[:200]}"
                    )
            if verb == "DROP" or match["new"]:
                objects.pop(match["name"], None)
            if verb == "CREATE" or match["new"]:
                objects[match["new"] or match["name"]] = kind
    return [(name, kind) for name, kind in objects.items() if kind in ("TABLE", "VIEW")]


def _load(folder: Path, dialect: str) -> dict[str, _Query]:
    """The named queries of ``sql/*.sql``; those of the dialect's folder replace their namesakes."""
    from aiosql.adapters.sqlite3 import SQLite3Adapter
    from aiosql.query_loader import QueryLoader
    from aiosql.utils import SQLParseException

    adapter = SQLite3Adapter()  # type: ignore[no-untyped-call]  # it leaves ``:name`` as it is
    loader = QueryLoader(adapter, None, attribute=None, mandatory_parameters=False)
    queries = {}
    general = sorted((folder / "sql").glob("*.sql"))
    for path in [*general, *sorted((folder / "sql" / dialect).glob("*.sql"))]:
        try:
            found = loader.load_query_data_from_sql(path.read_text(encoding="utf-8"), [], path)
        except SQLParseException as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        for query in found:
            writes = re.search(r"\bRETURNING\b", query.sql, re.IGNORECASE) is not None
            queries[query.query_name] = _Query(query.sql, writes)
    return queries
