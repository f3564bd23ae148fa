"""Copies one store into another, row by row, so that a kill at any moment does no harm.

Each page of rows is written together with the place in the source that it goes up to. The target
says that it is half of a copy for as long as it is, so that nobody works on it. At the end both
are read whole and compared by hashes; a table that differs, as the source was changed between two
attempts, is copied once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline_hookspecs import crash
from hookline_hookspecs.drivers import Batch, Connection, Store
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.storage import Row

from .components import PLUGIN, bring_up, derived, seeded
from .places import expect_alone, expect_data
from .tables import Reader, Sum, Table, clean, queries, tables

ROUNDS = 3
"""How often a table is copied that differs at the end."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy came to: ``sums`` of each table; ``was_equal`` if there was nothing to do."""

    sums: Mapping[str, Sum]
    was_equal: bool = False


class StoreCopy:
    """A copy of ``source`` into ``target``, which are not open yet. See :meth:`run`."""

    def __init__(
        self, source: Store, target: Store, home: Path, tell: Callable[[str], None]
    ) -> None:
        self._source, self._target, self._home, self._tell = source, target, home, tell

    async def run(self) -> Copied:
        """Copy everything, or what is missing. Raises ``StoreError`` and says what to do."""
        if str(self._source.location()) == str(self._target.location()):
            raise StoreError(f"{self._source.location()} would be copied into itself.")
        expect_data(self._source)
        for store in (self._source, self._target):
            await expect_alone(store)
        await self._source.open()
        try:
            await self._target.open()
            try:
                return await self._copied()
            finally:
                await self._target.close()
        finally:
            await self._source.close()

    async def _copied(self) -> Copied:
        begun = await self._progress(self._target)
        if await self._progress(self._source):
            raise StoreError(f"{self._source.location()} is itself half of a copy; finish that.")
        components = await self._components()
        if begun:
            self._expect_same(begun)
        else:
            for store in (self._source, self._target):
                for component in components:
                    await bring_up(store, component, self._home)
        self._pairs = await self._agree(components)
        if not begun:
            if await self._holds_data(seeded(components)):
                return await self._expect_equal()
            await self._begin()
        elif len(begun) != len(self._pairs) + 1:
            raise StoreError("The versions that began this copy and that go on with it differ.")
        await self._fill()
        sums = await self._verify()
        await self._finish()
        return Copied(sums)

    async def _components(self) -> list[str]:
        """What has tables in the source."""
        found = await self._source.read(self._query(self._source, "components"))
        names = {row["component"] for row in found}
        if "storage" in names:  # a plugin may have an index of `host.storage.search` alone
            sql = "SELECT key FROM kv WHERE plugin = ''"
            kept = await self._source.read(lambda db: db.fetch(sql))
            names |= {PLUGIN + row["key"] for row in kept}
        if "core" not in names:
            raise StoreError(f"{self._source.location()} holds nothing of Hookline's.")
        return sorted(names)

    async def _progress(self, store: Store) -> list[Row]:
        return list(await store.read(self._query(store, "progress")))

    @staticmethod
    def _query(store: Store, name: str) -> Callable[[Connection], Any]:
        return lambda db: db.fetch(queries(store.dialect)[name])

    def _expect_same(self, begun: Sequence[Row]) -> None:
        if begun[0]["name"] != str(self._source.location()):
            raise StoreError(
                f"{self._target.location()} is half of a copy of {begun[0]['name']}. Finish that "
                "one, or empty it first."
            )

    async def _agree(self, components: Sequence[str]) -> list[tuple[Table, tuple[str, ...]]]:
        """The tables to copy, in this order, with the columns of both stores."""
        ours, theirs = await tables(self._source), await tables(self._target)
        left_out = derived(components)
        if missing := sorted(ours.keys() - theirs.keys() - left_out):
            raise StoreError(
                f"Tables of {self._source.location()} belong to nothing that is installed: "
                f"{', '.join(missing)}. Nothing was copied."
            )
        # What refers to other rows comes behind them.
        names = sorted(ours.keys() - left_out, key=lambda name: (theirs[name].refers, name))
        return [
            (theirs[name], tuple(sorted({*ours[name].columns} & {*theirs[name].columns})))
            for name in names
        ]

    async def _holds_data(self, left_out: set[str]) -> list[str]:
        """Tables of the target with rows, but for those that its migrations made."""

        def look(db: Connection) -> list[str]:
            found = []
            for table, _ in self._pairs:
                only = " WHERE plugin <> ''" if table.name == "kv" else ""
                count = f'SELECT 1 AS n FROM "{table.name}"{only} LIMIT 1'  # noqa: S608
                if table.name not in left_out and db.fetch(count):
                    found.append(table.name)
            return found

        return await self._target.read(look)

    async def _expect_equal(self) -> Copied:
        sums, differing = await self._compared()
        if not differing:
            return Copied(sums, was_equal=True)
        raise StoreError(
            f"{self._target.location()} holds other data ({_listed(differing)}), which is left as "
            "it is. Name an empty database or another file, or move that one away."
        )

    async def _begin(self) -> None:
        """Say in the target that it is half of a copy, with nothing in it."""
        sql = queries(self._target.dialect)
        rows = [{"number": 0, "name": str(self._source.location()), "place": ""}]
        for number, (table, columns) in enumerate(self._pairs, 1):
            place = await Reader(self._source, table.name, columns).begin()
            rows.append({"number": number, "name": table.name, "place": str(place)})

        def work(db: Connection) -> None:
            for table, _ in reversed(self._pairs):
                db.execute(f'DELETE FROM "{table.name}"')  # noqa: S608
            now = time.time()
            db.batch([(sql["begin_copy"], {**row, "now": now}) for row in rows])

        await self._target.write(work, durable=True)

    async def _fill(self) -> None:
        """Copy each table from where it stopped."""
        progress = {row["number"]: row for row in await self._progress(self._target)}
        for number, (table, columns) in enumerate(self._pairs, 1):
            await self._fill_one(number, table, columns, int(progress[number]["checksum"]))

    async def _fill_one(
        self, number: int, table: Table, columns: Sequence[str], place: int | None
    ) -> None:
        reader = Reader(self._source, table.name, columns)
        sql, put = queries(self._target.dialect), self._put(table, columns)
        while place is not None:
            rows, place = await reader.page(place)
            if place is None:
                break
            values = [{name: clean(row[name]) for name in columns} for row in rows]
            if table.is_search:
                values = [{"key": row["key"], "text": row["text"]} for row in values]
            came = (sql["came_to"], {"number": number, "place": str(place)})
            batch = [*((put, row) for row in values), came]
            await self._target.write(Batch(batch))
            crash.point("mid-copy")

    def _put(self, table: Table, columns: Sequence[str]) -> str:
        if table.is_search:
            return self._target.search_statements(table.name)["put"]
        names = ", ".join(f'"{one}"' for one in columns)
        values = ", ".join(f":{one}" for one in columns)
        return f'INSERT INTO "{table.name}" ({names}) VALUES ({values})'  # noqa: S608

    async def _verify(self) -> Mapping[str, Sum]:
        """Compare both stores; copy what differs once more. Raises ``StoreError``."""
        for _ in range(ROUNDS):
            sums, differing = await self._compared()
            if not differing:
                return sums
            self._tell(f"changed since it was copied, so again: {_listed(differing)}")
            for number, (table, columns) in enumerate(self._pairs, 1):
                if table.name in differing:
                    await self._again(number, table, columns)
        raise StoreError(
            f"After {ROUNDS} attempts these tables differ from those of {self._source.location()}: "
            f"{_listed(differing)}. Does another process write there?"
        )

    async def _again(self, number: int, table: Table, columns: Sequence[str]) -> None:
        delete = f'DELETE FROM "{table.name}"'  # noqa: S608
        begin = await Reader(self._source, table.name, columns).begin()
        came = queries(self._target.dialect)["came_to"]
        place = {"number": number, "place": str(begin)}
        await self._target.write(lambda db: db.batch([(delete, {}), (came, place)]))
        await self._fill_one(number, table, columns, begin)

    async def _compared(self) -> tuple[Mapping[str, Sum], list[str]]:
        sums, differing = {}, []
        for table, columns in self._pairs:
            sums[table.name] = await Reader(self._source, table.name, columns).sum()
            if await Reader(self._target, table.name, columns).sum() != sums[table.name]:
                differing.append(table.name)
        return sums, differing

    async def _finish(self) -> None:
        """Let numbers go on where they stood, and make the copy a store like others."""
        steps = await self._source.read(self._query(self._source, "steps"))
        sql = queries(self._target.dialect)

        def work(db: Connection) -> None:
            for table, _ in self._pairs if "numbered" in sql else ():
                for column in db.fetch(sql["numbered"], {"name": table.name}):
                    named = sql["go_on"].replace("{name}", f'"{table.name}"')
                    named = named.replace("{column}", f'"{column["name"]}"')
                    db.fetch(named, {"name": table.name, "column": column["name"]})
            db.batch([(sql["applied"], dict(row)) for row in steps])
            db.execute(sql["end_copy"])

        await self._target.write(work, durable=True)


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
