"""Bringing a component's tables up to date: numbered forward steps, recorded with a checksum."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from hookline_hookspecs.drivers import Connection, Migration
from hookline_hookspecs.errors import StoreError

from .connection import SqliteConnection, make_private, store_error

KEPT_BACKUPS = 3
ONE_UPGRADE_SECONDS = 60.0
"""An upgrade migrates several components; within this time they share one backup."""

_TABLES = """
SELECT name FROM sqlite_master AS t
WHERE type = 'table' AND name <> 'migrations' AND substr(name, 1, 7) <> 'sqlite_'
AND NOT EXISTS (SELECT 1 FROM sqlite_master AS v WHERE v.sql LIKE 'CREATE VIRTUAL%'
    AND substr(t.name, 1, length(v.name) + 1) = v.name || '_')
"""


def statements(sql: str) -> Iterator[str]:
    """The single statements of ``sql``; a trigger's body stays whole."""
    statement = ""
    for piece in sql.split(";"):
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""
    if statement.rstrip(";").strip():
        yield statement.strip()


def checksum(step: Migration) -> str:
    """What is recorded of a step; line endings do not count."""
    return hashlib.sha256("\n".join(step.sql.splitlines()).encode()).hexdigest()


class Migrator:
    """Runs migrations on a connection outside of a transaction; keeps backups beside the file."""

    def __init__(self, home: Path, version: str) -> None:
        """``version`` of the code, for the names of backups."""
        self._backups = home / "backups"
        self._version = version
        self._backed_up = float("-inf")

    def due(
        self, connection: Connection, component: str, steps: Sequence[Migration]
    ) -> list[Migration]:
        """The steps that are not recorded yet. Raises ``StoreError`` if they do not fit."""
        known = {step.number: step for step in steps}
        if len(known) < len(steps):
            raise StoreError(f"Two migrations of {component} have the same number.")
        recorded = connection.fetch(
            "SELECT number, name, checksum FROM migrations WHERE component = :component",
            {"component": component},
        )
        for row in recorded:
            step = known.pop(row["number"], None)
            if step is None:
                raise StoreError(self._newer(component, row["number"], len(steps)))
            if checksum(step) != row["checksum"]:
                raise StoreError(
                    f"Migration {step.number} ({step.name}) of {component} was changed after it "
                    "had been applied. Put the file back as it was and add a new step instead."
                )
        return [known[number] for number in sorted(known)]

    def run(self, connection: SqliteConnection, component: str, steps: Sequence[Migration]) -> None:
        """Apply what is due, each step in a transaction. Raises ``StoreError``."""
        self._back_up(connection)
        # Rebuilding a table that others refer to would empty them; the check comes before COMMIT.
        connection.execute("PRAGMA foreign_keys = OFF")
        try:
            while self._apply_next(connection, component, steps):
                pass
        finally:
            connection.rollback()
            connection.execute("PRAGMA foreign_keys = ON")

    def _apply_next(
        self, connection: SqliteConnection, component: str, steps: Sequence[Migration]
    ) -> bool:
        connection.execute("BEGIN IMMEDIATE")
        due = self.due(connection, component, steps)  # another process may have been faster
        for step in due[:1]:
            try:
                self._apply(connection, component, step)
            except StoreError as error:
                failed = f"Migration {step.number} ({step.name}) of {component} failed"
                raise StoreError(f"{failed} and changed nothing: {error}") from error
        connection.execute("COMMIT")
        return len(due) > 1

    def _apply(self, connection: SqliteConnection, component: str, step: Migration) -> None:
        for statement in statements(step.sql):
            connection.execute(statement)
            if not connection.raw.in_transaction:
                raise StoreError(f"it may not end its transaction. Statement: {statement[:200]}")
        if broken := connection.fetch("PRAGMA foreign_key_check"):
            raise StoreError(f"rows of {broken[0]['table']} refer to rows that are not there.")
        row = {"component": component, "number": step.number, "name": step.name}
        row |= {"checksum": checksum(step), "applied": time.time()}
        connection.execute(
            "INSERT INTO migrations VALUES (:component, :number, :name, :checksum, :applied)", row
        )

    def _newer(self, component: str, number: int, known: int) -> str:
        backup = (self._copies() or [self._backups])[-1]
        return (
            f"The tables of {component} are newer than this version (migration {number}; {known} "
            f"are known). Update hookline, or restore the backup {backup}."
        )

    def _copies(self) -> list[Path]:
        """The backups, oldest first."""
        copies = self._backups.glob("hookline-*.db")
        return sorted(copies, key=lambda path: path.stem.rpartition("-")[2])

    def _back_up(self, connection: SqliteConnection) -> None:
        """Copy a database that holds rows, and drop the oldest copies."""
        if time.monotonic() - self._backed_up < ONE_UPGRADE_SECONDS or not _has_rows(connection):
            return
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        path = self._backups / f"hookline-{self._version}-{stamp}.db"
        part = path.with_suffix(".part")
        try:
            make_private(part)
            with closing(sqlite3.connect(part)) as target:
                connection.raw.backup(target)
            part.replace(path)
        except (sqlite3.Error, OSError) as error:
            with suppress(OSError):
                part.unlink()
            reason = store_error(path, error) if isinstance(error, sqlite3.Error) else error
            raise StoreError(
                f"The database was not changed, because it could not be backed up: {reason}"
            ) from error
        self._backed_up = time.monotonic()
        for copy in self._copies()[:-KEPT_BACKUPS]:
            copy.unlink(missing_ok=True)


def _has_rows(connection: SqliteConnection) -> bool:
    names = [row["name"].replace('"', '""') for row in connection.fetch(_TABLES)]
    return any(connection.fetch(f'SELECT 1 FROM "{name}" LIMIT 1') for name in names)  # noqa: S608
