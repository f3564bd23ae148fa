"""The story's database on each engine, looked at without Hookline."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple, Protocol

from ...stage import Stage
from ..cluster.machines import asked, database

ORDERS = "SELECT count(*) FROM orders"


class ShopState(NamedTuple):
    """Two hashes: of all rows and the schema but for test orders, and of the test orders."""

    others: str
    tests: str


class DemoShop(Protocol):
    """A database with customers and orders, 12 of them test orders."""

    engine: str
    session: str
    url: str

    def state(self) -> ShopState:
        """What is in it."""

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

    def state(self) -> ShopState:
        """Of all statements that would make the file again."""
        with closing(sqlite3.connect(self._file)) as connection:
            lines = list(connection.iterdump())
        tests = [line for line in lines if ",'test'," in line]
        others = [line for line in lines if ",'test'," not in line]
        return ShopState(
            *(sha256("\n".join(part).encode()).hexdigest() for part in (others, tests))
        )

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
        asked(store, "GRANT DELETE ON orders TO agent")
        self.url = store.replace("//hookline@", f"//agent:{password}@")

    @classmethod
    @contextmanager
    def started(cls, stage: Stage) -> Iterator[PostgresShop]:
        """Start the server, and end it."""
        with database(stage) as store:
            yield cls(stage, store)

    def state(self) -> ShopState:
        """As ``fingerprint.sql`` says."""
        query = files(__package__).joinpath("fingerprint.sql").read_text("utf-8")
        others, _, tests = " ".join(asked(self._store, query)).rpartition("|")
        return ShopState(others, tests)

    def orders(self) -> str:
        """How many orders there are."""
        return f"{int(asked(self._store, ORDERS)[0]):,}"
