"""The statements of ``audit grants`` on a real server: the gateway role can only add rows."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from hookline.testing import Harness, calls
from hookline_audit import AuditPlugin

from .conftest import Works

Make = Callable[..., Harness]
FORBIDDEN = [
    "UPDATE audit_rows SET kind = kind",
    "DELETE FROM audit_rows",
    "TRUNCATE audit_rows",
    "UPDATE audit_seals SET n = n",
    "DELETE FROM audit_seals",
    "TRUNCATE audit_seals",
    "DROP TABLE audit_rows",
    "ALTER TABLE audit_rows DISABLE TRIGGER ALL",
    "ALTER TABLE audit_seals OWNER TO CURRENT_USER",
    "DELETE FROM audit_state",
    "UPDATE audit_keys SET chat = chat",
]


class Server:
    """A database of an owner's, and a role for gateways that owns nothing."""

    def __init__(self, url: str) -> None:
        self._url, tag = url, secrets.token_hex(4)
        self.name, self.owner, self.role = f"audit_{tag}", f"owner_{tag}", f"gateways_{tag}"
        self._admin(
            f"CREATE ROLE {self.owner} LOGIN",
            f"CREATE ROLE {self.role} LOGIN",
            f"CREATE DATABASE {self.name} OWNER {self.owner}",
        )

    def url(self, user: str) -> str:
        """The address for a login."""
        parts = psycopg.conninfo.conninfo_to_dict(self._url)
        host, port = parts.get("host", ""), parts.get("port", "5432")
        return f"postgresql://{user}@/{self.name}?host={host}&port={port}"

    def run(self, user: str, *lines: str) -> None:
        """Run statements, each in a transaction of its own."""
        with psycopg.connect(self.url(user), autocommit=True) as connection:
            for line in lines:
                connection.execute(line.encode())

    def close(self) -> None:
        """Drop it all."""
        self._admin(
            f"DROP DATABASE {self.name} WITH (FORCE)", f"DROP ROLE {self.owner}, {self.role}"
        )

    def _admin(self, *lines: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as admin:
            for line in lines:
                admin.execute(line.encode())


@pytest.fixture
def server(postgres_server: str) -> Iterator[Server]:
    with closing(Server(postgres_server)) as made:
        yield made


@pytest.mark.long
def test_gateway_role_can_add_rows_but_not_change_them(
    server: Server, harness: Make, tmp_path: Path
) -> None:
    home = tmp_path / "home"

    def opened(user: str) -> Harness:
        return Harness(AuditPlugin, Works, home=home, core={"store": server.url(user)})

    with closing(opened(server.owner)) as owner:
        owner.model.steps.append("hello")
        owner.send("hello")
        printed = owner.cli(f"audit grants {server.role} --owner {server.owner}").stdout
    server.run(
        server.owner,
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {server.role}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {server.role}",
        printed,
    )
    with closing(opened(server.role)) as gateway:
        gateway.model.steps += [calls("query", sql="SELECT 1"), "done"]
        gateway.send("ask the database")
        rows = gateway.cli("audit show --kind sql").stdout
        assert "prod" in rows
        assert gateway.cli("audit verify").exit_code == 0
    for statement in FORBIDDEN:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            server.run(server.role, statement)
    with closing(opened(server.role)) as gateway:
        assert gateway.cli("audit verify").exit_code == 0
