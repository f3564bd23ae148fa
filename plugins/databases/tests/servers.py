"""The shop on the servers of the run, with logins for it, and what may not change of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

HERE = Path(__file__).parent
SHOP = HERE.joinpath("shop.sql").read_text("utf-8")


class PostgresShop:
    """A database of its own on the run's server."""

    def __init__(self, server: str) -> None:
        self._server, tag = server, secrets.token_hex(4)
        self.name, self.reader, self.owner = f"shop_{tag}", f"reader_{tag}", f"owner_{tag}"
        with psycopg.connect(server, autocommit=True) as admin:
            for role in (self.reader, self.owner):
                admin.execute(f"CREATE ROLE {role} LOGIN".encode())
            admin.execute(f"GRANT pg_read_all_data, pg_monitor TO {self.reader}".encode())
            admin.execute(f"CREATE DATABASE {self.name} OWNER {self.owner}".encode())
        with psycopg.connect(self.url(self.owner), autocommit=True) as owner:
            owner.execute(SHOP.encode())
            owner.execute(HERE.joinpath("shop_postgres.sql").read_bytes())
        self.root = psycopg.connect(self.url(), autocommit=True)

    def url(self, user: str = "") -> str:
        """The address for one of the logins, or for the superuser."""
        parts = psycopg.conninfo.conninfo_to_dict(self._server)
        host = parts.get("host", "")
        port = f"&port={parts['port']}" if parts.get("port") else ""
        return f"postgresql://{user or parts['user']}@/{self.name}?host={host}{port}"

    def state(self) -> object:
        """What a hostile statement might change: data, schema, roles, settings, locks."""
        tables = self.root.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'S', 'm') AND relnamespace IN "
            "(SELECT oid FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' "
            "AND nspname <> 'information_schema') ORDER BY 1"
        ).fetchall()
        found: list[Any] = [tables]
        for (name,) in tables:
            text = sql.SQL(
                "SELECT md5(string_agg(row(t.*)::text, ',' ORDER BY row(t.*)::text)) FROM {} t"
            )
            found.append(self.root.execute(text.format(sql.Identifier(name))).fetchall())
        found.append(self.root.execute(HERE.joinpath("state_postgres.sql").read_bytes()).fetchone())
        return found

    def close(self) -> None:
        """Drop it."""
        self.root.close()
        with psycopg.connect(self._server, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE {self.name} WITH (FORCE)".encode())
            admin.execute(f"DROP ROLE {self.reader}, {self.owner}".encode())


@contextmanager
def postgres_shop(server: str) -> Iterator[PostgresShop]:
    """A shop that is dropped in the end."""
    shop = PostgresShop(server)
    try:
        yield shop
    finally:
        shop.close()
