"""The shop on the servers of the run, with logins for it, and what may not change of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from support.mariadb import Server

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


class MariaShop:
    """A database of its own on a MariaDB server, with logins for it."""

    reader, owner = "reader", "owner"

    def __init__(self, server: Server, name: str = "shop") -> None:
        self.server, self.name = server, name
        self.root = server.connect()
        self._run(f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4", f"USE {self.name}")
        self._run("SET SESSION group_concat_max_len = 10000000")
        self._run(*(line for line in SHOP.splitlines() if line))
        self._run(*HERE.joinpath("shop_mysql.sql").read_text("utf-8").split("\n\n"))
        self._run(
            "CREATE USER IF NOT EXISTS reader@localhost",
            "CREATE USER IF NOT EXISTS owner@localhost",
            f"GRANT SELECT, SHOW VIEW, EXECUTE ON {name}.* TO reader@localhost",
            "GRANT PROCESS ON *.* TO reader@localhost",
            f"GRANT ALL PRIVILEGES ON {name}.* TO owner@localhost",
        )  # fmt: skip

    def _run(self, *lines: str) -> None:
        with self.root.cursor() as cursor:
            for line in lines:
                if line.strip():
                    cursor.execute(line)

    def rows(self, text: str) -> list[Any]:
        """Rows of a query, as root."""
        with self.root.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    def url(self, user: str = "root") -> str:
        """The address for one of the logins, or for the superuser."""
        return self.server.url(self.name, user)

    def state(self) -> object:
        """What a hostile statement might change."""
        tables = [name for (name,) in self.rows("SHOW TABLES")]
        found: list[Any] = [tables]
        for name in tables:
            if name != "evil":  # a sequence
                columns = ", ".join(
                    f"COALESCE(HEX(`{row[0]}`), '-')"
                    for row in self.rows(f"SHOW COLUMNS FROM `{name}`")
                )
                found.append(sorted(self.rows(f"SELECT CONCAT_WS(',', {columns}) FROM `{name}`")))
        found.append(self.rows("SELECT next_not_cached_value FROM evil"))
        found.append(self.rows(HERE.joinpath("state_mysql.sql").read_text("utf-8")))
        return found

    def close(self) -> None:
        """Drop it."""
        self._run(f"DROP DATABASE {self.name}")
        self.root.close()
