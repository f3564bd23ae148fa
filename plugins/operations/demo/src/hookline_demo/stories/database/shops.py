"""The story's database on each engine, inspected without Hookline."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple, Protocol

from ...stage import Stage
from ..cluster.machines import query, start_database

ORDERS = "SELECT count(*) FROM orders"


class ShopState(NamedTuple):
    """Two hashes: of the schema and all rows except test orders, and of the test orders."""

    others: str
    tests: str


class DemoShop(Protocol):
    """A database with customers and orders, 12 of them test orders."""

    engine: str
    session: str
    url: str

    def state(self) -> ShopState:
        """Return the current state."""

    def orders(self) -> str:
        """Return the number of orders."""


class SqliteShop:
    """A SQLite file in the project."""

    engine, session = "SQLite", "sqlite"

    def __init__(self, stage: Stage) -> None:
        self._file = stage.project / "shop.db"
        self.url = f"sqlite:///{self._file}"
        with closing(sqlite3.connect(self._file)) as connection:
            connection.executescript((stage.project / "shop.sql").read_text("utf-8"))

    def state(self) -> ShopState:
        """Return the hashes of the SQL dump."""
        with closing(sqlite3.connect(self._file)) as connection:
            lines = list(connection.iterdump())
        tests = [line for line in lines if ",'test'," in line]
        others = [line for line in lines if ",'test'," not in line]
        return ShopState(
            *(sha256("\n".join(part).encode()).hexdigest() for part in (others, tests))
        )

    def orders(self) -> str:
        """Return the number of orders."""
        with closing(sqlite3.connect(self._file)) as connection:
            return f"{connection.execute(ORDERS).fetchone()[0]:,}"


class PostgresShop:
    """A PostgreSQL server with a role of limited rights."""

    engine, session = "PostgreSQL", "postgres"

    def __init__(self, stage: Stage, store: str) -> None:
        self._store = store
        query(store, (stage.project / "shop.sql").read_text("utf-8"))
        query(store, "ANALYZE")
        password = secrets.token_hex(8)
        query(store, f"CREATE ROLE agent LOGIN PASSWORD '{password}'")
        query(store, "GRANT pg_read_all_data, pg_monitor TO agent")
        query(store, "GRANT DELETE ON orders TO agent")
        self.url = store.replace("//hookline@", f"//agent:{password}@")

    @classmethod
    @contextmanager
    def started(cls, stage: Stage) -> Iterator[PostgresShop]:
        """Run the server until the end of the block."""
        with start_database(stage) as store:
            yield cls(stage, store)

    def state(self) -> ShopState:
        """Return the hashes of ``fingerprint.sql``."""
        sql = files(__package__).joinpath("fingerprint.sql").read_text("utf-8")
        others, _, tests = " ".join(query(self._store, sql)).rpartition("|")
        return ShopState(others, tests)

    def orders(self) -> str:
        """Return the number of orders."""
        return f"{int(query(self._store, ORDERS)[0]):,}"
