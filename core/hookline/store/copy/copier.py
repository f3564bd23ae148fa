"""Copies one store into another, row by row; safe against crashes.

Each page of rows is written together with its position in the source, so that an interrupted copy
can be continued. Until the copy is complete, the target is marked as incomplete and no process uses
it. At the end, all tables of both stores are compared by checksum; a table that differs, because
the source was changed between two attempts, is copied again.
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

from .components import PLUGIN, derived_tables, migrate_component, seeded_tables
from .store_address import expect_alone, expect_data
from .tables import StoreTable, TableChecksum, TableReader, queries, storable, tables

MAX_ROUNDS = 3
"""Maximum number of comparisons; tables that differ are copied again after each."""


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The checksum of each table; ``was_equal`` is True if both stores were already equal."""

    sums: Mapping[str, TableChecksum]
    was_equal: bool = False


class StoreCopier:
    """Copies ``source`` into ``target``, both not open yet; ``report`` shows progress."""

    def __init__(
        self, source: Store, target: Store, home: Path, report: Callable[[str], None]
    ) -> None:
        self._source = source
        self._target = target
        self._home = home
        self._report = report

    async def run(self) -> CopyResult:
        """Copy everything, or continue an interrupted copy. Raises ``StoreError``."""
        if str(self._source.location()) == str(self._target.location()):
            raise StoreError(f"Cannot copy {self._source.location()} into itself.")
        expect_data(self._source)
        for store in (self._source, self._target):
            await expect_alone(store)
        await self._source.open()
        try:
            await self._target.open()
            try:
                return await self._copy()
            finally:
                await self._target.close()
        finally:
            await self._source.close()

    async def _copy(self) -> CopyResult:
        progress = await self._progress(self._target)
        if await self._progress(self._source):
            raise StoreError(
                f"{self._source.location()} is itself an unfinished copy. Finish that first."
            )
        components = await self._components()
        if progress:
            self._expect_same_source(progress)
        else:
            for store in (self._source, self._target):
                for component in components:
                    await migrate_component(store, component, self._home)
        self._tables = await self._shared_tables(components)
        if not progress:
            if await self._filled_tables(seeded_tables(components)):
                return await self._expect_equal()
            await self._begin()
        elif len(progress) != len(self._tables) + 1:
            raise StoreError(
                "This copy was started by another version of Hookline. Empty the target and start "
                "again."
            )
        await self._copy_tables()
        sums = await self._verify()
        await self._finish()
        return CopyResult(sums)

    async def _components(self) -> list[str]:
        """The components with tables in the source."""
        found = await self._source.read(self._query(self._source, "components"))
        names = {row["component"] for row in found}
        if "storage" in names:  # a plugin may only have a table of `host.storage.search`
            sql = "SELECT key FROM kv WHERE plugin = ''"
            recorded = await self._source.read(lambda db: db.fetch(sql))
            names |= {PLUGIN + row["key"] for row in recorded}
        if "core" not in names:
            raise StoreError(f"{self._source.location()} is not a Hookline store.")
        return sorted(names)

    async def _progress(self, store: Store) -> list[Row]:
        return list(await store.read(self._query(store, "progress")))

    @staticmethod
    def _query(store: Store, name: str) -> Callable[[Connection], Any]:
        return lambda db: db.fetch(queries(store.dialect)[name])

    def _expect_same_source(self, progress: Sequence[Row]) -> None:
        source = progress[0]["name"]
        if source != str(self._source.location()):
            raise StoreError(
                f"{self._target.location()} is an unfinished copy of {source}. Finish that copy, "
                "or empty the target first."
            )

    async def _shared_tables(
        self, components: Sequence[str]
    ) -> list[tuple[StoreTable, tuple[str, ...]]]:
        """The tables to copy, in order, with the columns that both stores have."""
        ours, theirs = await tables(self._source), await tables(self._target)
        left_out = derived_tables(components)
        if missing := sorted(ours.keys() - theirs.keys() - left_out):
            raise StoreError(
                f"No installed component owns these tables of {self._source.location()}: "
                f"{', '.join(missing)}. Nothing was copied."
            )
        # Tables with foreign keys come after the tables that they refer to.
        names = sorted(ours.keys() - left_out, key=lambda name: (theirs[name].refers, name))
        return [
            (theirs[name], tuple(sorted({*ours[name].columns} & {*theirs[name].columns})))
            for name in names
        ]

    async def _filled_tables(self, left_out: set[str]) -> list[str]:
        """The target's tables with rows that its migrations did not insert."""

        def look(db: Connection) -> list[str]:
            found = []
            for table, _ in self._tables:
                only = " WHERE plugin <> ''" if table.name == "kv" else ""
                count = f'SELECT 1 AS n FROM "{table.name}"{only} LIMIT 1'  # noqa: S608
                if table.name not in left_out and db.fetch(count):
                    found.append(table.name)
            return found

        return await self._target.read(look)

    async def _expect_equal(self) -> CopyResult:
        sums, differing = await self._compare()
        if not differing:
            return CopyResult(sums, was_equal=True)
        raise StoreError(
            f"{self._target.location()} holds other data ({_listed(differing)}). Nothing was "
            "changed. Name an empty database or another file."
        )

    async def _begin(self) -> None:
        """Empty the target and mark it as an unfinished copy."""
        sql = queries(self._target.dialect)
        rows = [{"number": 0, "name": str(self._source.location()), "place": ""}]
        for number, (table, columns) in enumerate(self._tables, 1):
            place = await TableReader(self._source, table.name, columns).begin()
            rows.append({"number": number, "name": table.name, "place": str(place)})

        def work(db: Connection) -> None:
            for table, _ in reversed(self._tables):
                db.execute(f'DELETE FROM "{table.name}"')  # noqa: S608
            now = time.time()
            db.batch([(sql["begin_copy"], {**row, "now": now}) for row in rows])

        await self._target.write(work, durable=True)

    async def _copy_tables(self) -> None:
        """Copy each table from its last position."""
        progress = {row["number"]: row for row in await self._progress(self._target)}
        for number, (table, columns) in enumerate(self._tables, 1):
            await self._copy_table(number, table, columns, int(progress[number]["checksum"]))

    async def _copy_table(
        self, number: int, table: StoreTable, columns: Sequence[str], position: int | None
    ) -> None:
        reader = TableReader(self._source, table.name, columns)
        insert = self._insert_statement(table, columns)
        set_position = queries(self._target.dialect)["came_to"]
        while position is not None:
            rows, position = await reader.page(position)
            if position is None:
                break
            values = [{name: storable(row[name]) for name in columns} for row in rows]
            if table.is_search:
                values = [{"key": row["key"], "text": row["text"]} for row in values]
            position_row = {"number": number, "place": str(position)}
            statements = [(insert, row) for row in values]
            await self._target.write(Batch([*statements, (set_position, position_row)]))
            crash.point("mid-copy")

    def _insert_statement(self, table: StoreTable, columns: Sequence[str]) -> str:
        if table.is_search:
            return self._target.search_statements(table.name)["put"]
        names = ", ".join(f'"{name}"' for name in columns)
        values = ", ".join(f":{name}" for name in columns)
        return f'INSERT INTO "{table.name}" ({names}) VALUES ({values})'  # noqa: S608

    async def _verify(self) -> Mapping[str, TableChecksum]:
        """Compare both stores and copy tables that differ again. Raises ``StoreError``."""
        for _ in range(MAX_ROUNDS):
            sums, differing = await self._compare()
            if not differing:
                return sums
            self._report(f"changed during the copy, copying again: {_listed(differing)}")
            for number, (table, columns) in enumerate(self._tables, 1):
                if table.name in differing:
                    await self._copy_again(number, table, columns)
        raise StoreError(
            f"After {MAX_ROUNDS} attempts these tables still differ from "
            f"{self._source.location()}: {_listed(differing)}. Stop every process that writes "
            "there."
        )

    async def _copy_again(self, number: int, table: StoreTable, columns: Sequence[str]) -> None:
        delete = f'DELETE FROM "{table.name}"'  # noqa: S608
        begin = await TableReader(self._source, table.name, columns).begin()
        set_position = queries(self._target.dialect)["came_to"]
        row = {"number": number, "place": str(begin)}
        await self._target.write(lambda db: db.batch([(delete, {}), (set_position, row)]))
        await self._copy_table(number, table, columns, begin)

    async def _compare(self) -> tuple[Mapping[str, TableChecksum], list[str]]:
        sums, differing = {}, []
        for table, columns in self._tables:
            sums[table.name] = await TableReader(self._source, table.name, columns).checksum()
            if await TableReader(self._target, table.name, columns).checksum() != sums[table.name]:
                differing.append(table.name)
        return sums, differing

    async def _finish(self) -> None:
        """Continue number sequences after the copied rows, and remove the mark of a copy."""
        steps = await self._source.read(self._query(self._source, "steps"))
        sql = queries(self._target.dialect)

        def work(db: Connection) -> None:
            for table, _ in self._tables if "numbered" in sql else ():
                for column in db.fetch(sql["numbered"], {"name": table.name}):
                    statement = sql["go_on"].replace("{name}", f'"{table.name}"')
                    statement = statement.replace("{column}", f'"{column["name"]}"')
                    db.fetch(statement, {"name": table.name, "column": column["name"]})
            db.batch([(sql["applied"], dict(row)) for row in steps])
            db.execute(sql["end_copy"])

        await self._target.write(work, durable=True)


def _listed(names: Sequence[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
