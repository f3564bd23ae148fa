"""Migrates a component's tables by numbered steps, which are recorded with a checksum."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from hookline_hookspecs import crash
from hookline_hookspecs.drivers import Migration
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.stores import checksum, due

from .connection import SqliteConnection, make_private, store_error

KEPT_BACKUPS = 3


def statements(sql: str) -> Iterator[str]:
    """Split ``sql`` into statements; a trigger's body stays whole."""
    statement = ""
    for piece in sql.split(";"):
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""
    if statement.rstrip(";").strip():
        yield statement.strip()


class Migrator:
    """Backs up the database, then runs migrations on a connection without a transaction."""

    def __init__(self, home: Path, version: str) -> None:
        """``version`` is Hookline's, for the names of backups."""
        self._backups = home / "backups"
        self._version = version
        self._backed_up = False

    def run(self, connection: SqliteConnection, component: str, steps: Sequence[Migration]) -> None:
        """Apply the steps that are due, each in a transaction. Raises ``StoreError``."""
        if not self._backed_up:
            self._back_up(connection)
        # With foreign keys on, rebuilding a table could delete rows that refer to it. `_apply`
        # checks the references before the commit.
        connection.execute("PRAGMA foreign_keys = OFF")
        try:
            for step in due(connection, component, steps):
                connection.execute("BEGIN IMMEDIATE")
                if step in due(connection, component, steps):  # another process may have applied it
                    _apply(connection, component, step)
                connection.execute("COMMIT")
        finally:
            connection.rollback()
            connection.execute("PRAGMA foreign_keys = ON")

    def _back_up(self, connection: SqliteConnection) -> None:
        """Copy the database before this process first changes it, and delete the oldest copies."""
        path = self._backups / f"hookline-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{self._version}.db"
        part = path.with_suffix(".part")
        try:
            if connection.fetch("SELECT 1 FROM migrations LIMIT 1"):  # otherwise it is new
                make_private(part)
                with closing(sqlite3.connect(part)) as target:
                    connection.raw.backup(target)
                part.replace(path)
                for copy in sorted(self._backups.glob("hookline-*.db"))[:-KEPT_BACKUPS]:
                    copy.unlink(missing_ok=True)
        except (sqlite3.Error, OSError, StoreError) as error:
            with suppress(OSError):
                part.unlink()
            reason = error if isinstance(error, StoreError) else store_error(path, error)
            raise StoreError(f"Nothing was changed because the backup failed: {reason}") from error
        self._backed_up = True


def _apply(connection: SqliteConnection, component: str, step: Migration) -> None:
    row = {"component": component, "number": step.number, "name": step.name}
    row |= {"checksum": checksum(step), "applied": time.time()}
    try:
        for statement in statements(step.sql):
            connection.execute(statement)
            if not connection.raw.in_transaction:
                raise StoreError(f"it must not end its transaction. Statement: {statement[:200]}")
        if broken := connection.fetch("PRAGMA foreign_key_check"):
            raise StoreError(f"rows of {broken[0]['table']} refer to rows that do not exist.")
        crash.point("mid-migration")
        connection.execute(
            "INSERT INTO migrations VALUES (:component, :number, :name, :checksum, :applied)", row
        )
    except StoreError as error:
        failed = f"Migration {step.number} ({step.name}) of {component} failed"
        raise StoreError(f"{failed} and changed nothing: {error}") from error
