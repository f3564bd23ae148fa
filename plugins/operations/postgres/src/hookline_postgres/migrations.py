"""Creates the store's own tables, and applies the migrations of components."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hookline_hookspecs import crash
from hookline_hookspecs.drivers import Migration
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.stores import checksum, due

from . import dialect
from .connection import PgConnection, TransactionConflict

LOCK = f"SELECT pg_advisory_xact_lock({0x484F4F4B})"
"""The lock under which one process at a time creates or changes tables."""
_IS_SET_UP = """SELECT 1 WHERE to_regproc('hookline_fence') IS NOT NULL
AND to_regclass('channel_key') IS NOT NULL"""
_SETUP = Path(__file__).with_name("setup.sql")


def set_up(connection: PgConnection, schema: str) -> None:
    """Create the store's own tables, and their ``schema`` unless it is empty."""
    if connection.fetch(_IS_SET_UP):
        return
    with _transaction(connection):
        if schema:
            connection.run(f"CREATE SCHEMA IF NOT EXISTS {schema}", {})
        connection.run(_SETUP.read_text(encoding="utf-8").replace("%", "%%"), {})


def migrate(connection: PgConnection, component: str, steps: Sequence[Migration]) -> None:
    """Apply pending migrations, each in a transaction. Raises ``StoreError``."""
    for step in due(connection, component, steps):
        with _transaction(connection):
            # Another process may have applied it in the meantime.
            if step in due(connection, component, steps):
                _apply(connection, component, step)


def _apply(connection: PgConnection, component: str, step: Migration) -> None:
    row = {"component": component, "number": step.number, "name": step.name}
    row |= {"checksum": checksum(step), "applied": time.time()}
    try:
        for statement in dialect.split_statements(step.sql):
            connection.execute(dialect.translate_schema(statement))
        crash.point("mid-migration")
        connection.execute(
            "INSERT INTO migrations VALUES (:component, :number, :name, :checksum, :applied)", row
        )
    except StoreError as error:
        failed = f"Migration {step.number} ({step.name}) of {component} failed"
        raise StoreError(f"{failed} and changed nothing: {error}") from error


@contextmanager
def _transaction(connection: PgConnection) -> Iterator[None]:
    """A transaction that holds the lock for changing tables."""
    connection.begin()
    connection.run(f"BEGIN; {LOCK}", {})
    try:
        yield
        connection.run("COMMIT", {})
    except BaseException:
        with suppress(StoreError, TransactionConflict):
            connection.run("ROLLBACK", {})
        raise
