"""The tables of an open store: their columns, their rows page by page, the sum of them all."""

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
PLACE = "hookline_place"


@cache
def queries(dialect: str) -> Mapping[str, str]:
    """The named queries of this package."""
    return load(SQL, dialect)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of one store; ``refers`` to rows of another one."""

    name: str
    columns: tuple[str, ...]
    refers: bool

    @property
    def is_search(self) -> bool:
        """True for one of ``host.storage.search``, which has a statement of its own."""
        return self.name.endswith("_search") and {"key", "text"} <= set(self.columns)


@dataclass(frozen=True, slots=True)
class Sum:
    """How many rows, and the sum of their hashes: equal whatever order they stand in."""

    rows: int
    sha: str


async def tables(store: Store) -> dict[str, Table]:
    """Every table with rows of its own, by name."""
    sql = queries(store.dialect)

    def look(db: Connection) -> dict[str, Table]:
        found = {}
        for row in db.fetch(sql["tables"]):
            columns = [one["name"] for one in db.fetch(sql["columns"], {"name": row["name"]})]
            if row["is_virtual"]:
                columns.append("rowid")
            found[row["name"]] = Table(row["name"], tuple(columns), bool(row["refers"]))
        return found

    return await store.read(look)


class Reader:
    """The rows of a table of ``store``, with the ``columns`` that both stores have."""

    def __init__(self, store: Store, name: str, columns: Sequence[str]) -> None:
        self._store, self._name, self._columns = store, name, tuple(columns)
        sql = queries(store.dialect)
        shown = ", ".join(f'"{one}"' for one in columns)
        self._sql = {
            query: sql[query].replace("{columns}", shown).replace("{name}", f'"{name}"')
            for query in ("begin", "page", "last_place")
        }

    async def begin(self) -> int:
        """The place before the first row."""
        found = await self._store.read(lambda db: db.fetch(self._sql["begin"]))
        return int(found[0]["place"])

    async def page(self, place: int) -> tuple[list[Row], int | None]:
        """Some rows behind ``place``, and the place up to which they go; None at the end."""

        def look(db: Connection) -> tuple[list[Row], int | None]:
            named = {"place": place, "name": self._name}
            last = db.fetch(self._sql["last_place"], named)[0]["place"]
            if last is None or last <= place:
                return [], None
            rows = db.fetch(self._sql["page"], named)
            if self._store.dialect == "sqlite":
                return rows, rows[-1][PLACE]
            return rows, min(place + 8, last)

        return await self._store.read(look)

    async def sum(self) -> Sum:
        """All of the table."""
        count = total = 0
        place: int | None = await self.begin()
        while place is not None:
            rows, place = await self.page(place)
            count += len(rows)
            for row in rows:
                total += _number(row, self._columns)
        return Sum(count, f"{total % 2**256:064x}")


def _number(row: Row, columns: Sequence[str]) -> int:
    """A row as a number of 256 bits."""
    values = json.dumps([clean(row[name]) for name in columns], default=_bytes)
    return int.from_bytes(hashlib.sha256(values.encode("utf-8", "surrogatepass")).digest(), "big")


def _bytes(value: object) -> Any:
    return {"bytes": bytes(value).hex()}  # type: ignore[call-overload]


def clean(value: Any) -> Any:
    """``value`` as every store can hold it: PostgreSQL takes no NUL and no half a pair."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return value
