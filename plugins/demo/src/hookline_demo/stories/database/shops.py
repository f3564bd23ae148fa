"""The story's database on each engine, looked at without Hookline."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from typing import Protocol

from ...stage import Stage
from ..cluster.machines import asked, database

ORDERS = "SELECT count(*) FROM orders"


class Shop(Protocol):
    """A database with customers and orders."""

    engine: str
    session: str
    url: str

    def fingerprint(self) -> str:
        """Changes with every row and with the schema."""

    def orders(self) -> str:
        """How many orders there are."""


class SqliteShop:
    """A file on the stage."""

    engine, session = "SQLite", "sqlite"

    def __init__(self, stage: Stage) -> None:
        self._file = stage.project / "shop.db"
        self.url = f"sqlite:///{self._file}"
        with closing(sqlite3.connect(self._file)) as connection:
            connection.executescript((stage.project / "shop.sql").read_text("utf-8"))

    def fingerprint(self) -> str:
        """Of all statements that would make the file again."""
        with closing(sqlite3.connect(self._file)) as connection:
            return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()

    def orders(self) -> str:
        """How many orders there are."""
        with closing(sqlite3.connect(self._file)) as connection:
            return f"{connection.execute(ORDERS).fetchone()[0]:,}"


class PostgresShop:
    """A server of the story's own, with a login that may not do everything."""

    engine, session = "PostgreSQL", "postgres"

    def __init__(self, stage: Stage, store: str) -> None:
        self._store = store
        asked(store, (stage.project / "shop.sql").read_text("utf-8"))
        asked(store, "ANALYZE")
        password = secrets.token_hex(8)
        asked(store, f"CREATE ROLE agent LOGIN PASSWORD '{password}'")
        asked(store, "GRANT pg_read_all_data, pg_monitor TO agent")
        self.url = store.replace("//hookline@", f"//agent:{password}@")

    @classmethod
    @contextmanager
    def started(cls, stage: Stage) -> Iterator[PostgresShop]:
        """Start the server, and end it."""
        with database(stage) as store:
            yield cls(stage, store)

    def fingerprint(self) -> str:
        """Of all rows and of the names of tables and indexes."""
        query = files(__package__).joinpath("fingerprint.sql").read_text("utf-8")
        return " ".join(asked(self._store, query))

    def orders(self) -> str:
        """How many orders there are."""
        return f"{int(asked(self._store, ORDERS)[0]):,}"
