"""Reads the tables of an open store: their columns, rows page by page, and checksums."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hookline_hookspecs.drivers import Connection, Store
from hookline_hookspecs.storage import Row

from ..plugin_storage import load

SQL = Path(__file__).with_name("sql")
POSITION_COLUMN = "hookline_place"


@cache
def queries(dialect: str) -> Mapping[str, str]:
    """The named queries of this package."""
    return load(SQL, dialect)


@dataclass(frozen=True, slots=True)
class StoreTable:
    """A table of a store; ``refers`` is True if it has a foreign key."""

    name: str
    columns: tuple[str, ...]
    refers: bool

    @property
    def is_search(self) -> bool:
        """True for a table of ``host.storage.search``, which has its own insert statement."""
        return self.name.endswith("_search") and {"key", "text"} <= set(self.columns)


@dataclass(frozen=True, slots=True)
class TableChecksum:
    """The number of rows and the sum of their hashes, independent of the order of the rows."""

    rows: int
    sha: str


async def tables(store: Store) -> dict[str, StoreTable]:
    """The store's tables by name."""
    sql = queries(store.dialect)

    def look(db: Connection) -> dict[str, StoreTable]:
        found = {}
        for row in db.fetch(sql["tables"]):
            rows = db.fetch(sql["columns"], {"name": row["name"]})
            columns = [column["name"] for column in rows]
            if row["is_virtual"]:
                columns.append("rowid")
            found[row["name"]] = StoreTable(row["name"], tuple(columns), bool(row["refers"]))
        return found

    return await store.read(look)


class TableReader:
    """The rows of a table of ``store``, with the ``columns`` that both stores have."""

    def __init__(self, store: Store, name: str, columns: Sequence[str]) -> None:
        self._store, self._name, self._columns = store, name, tuple(columns)
        sql = queries(store.dialect)
        quoted = ", ".join(f'"{column}"' for column in columns)
        self._sql = {
            query: sql[query].replace("{columns}", quoted).replace("{name}", f'"{name}"')
            for query in ("begin", "page", "last_place")
        }

    async def begin(self) -> int:
        """The position before the first row."""
        found = await self._store.read(lambda db: db.fetch(self._sql["begin"]))
        return int(found[0]["place"])

    async def page(self, position: int) -> tuple[list[Row], int | None]:
        """The next rows after ``position``, and the position after them; None at the end."""

        def look(db: Connection) -> tuple[list[Row], int | None]:
            params = {"place": position, "name": self._name}
            last = db.fetch(self._sql["last_place"], params)[0]["place"]
            if last is None or last <= position:
                return [], None
            rows = db.fetch(self._sql["page"], params)
            if self._store.dialect == "sqlite":
                return rows, rows[-1][POSITION_COLUMN]
            return rows, min(position + 8, last)

        return await self._store.read(look)

    async def checksum(self) -> TableChecksum:
        """The checksum of all rows."""
        count = total = 0
        position: int | None = await self.begin()
        while position is not None:
            rows, position = await self.page(position)
            count += len(rows)
            for row in rows:
                total += _row_hash(row, self._columns)
        return TableChecksum(count, f"{total % 2**256:064x}")


def _row_hash(row: Row, columns: Sequence[str]) -> int:
    """The SHA-256 hash of a row, as a number."""
    values = json.dumps([storable(row[name]) for name in columns], default=_encode_bytes)
    return int.from_bytes(hashlib.sha256(values.encode("utf-8", "surrogatepass")).digest(), "big")


def _encode_bytes(value: object) -> Any:
    return {"bytes": bytes(value).hex()}  # type: ignore[call-overload]


def storable(value: Any) -> Any:
    """Replace what PostgreSQL does not accept in a text: NULs and lone surrogates."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return value
