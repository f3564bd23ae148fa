"""``hookline db``: where the URL goes, what is printed, and what the audit is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hookline.testing import Harness
from hookline_audit import AuditPlugin
from hookline_databases import Databases
from hookline_vault import VaultPlugin

from .conftest import Desk

PASSWORD = "s3cret-canary"
URL = f"postgresql://reader:{PASSWORD}@127.0.0.1:1/shop"


def test_a_url_with_a_password_goes_into_the_vault(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("plugins: {databases: true, vault: true}\n")
    h = harness(Databases, VaultPlugin, home=tmp_path)
    assert h.cli("vault rekey --to file").exit_code == 0
    done = h.cli("db add prod --url-stdin", input=f"{URL}\n")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "GRANT pg_read_all_data, pg_monitor TO hookline_reader;" in (done.stdout + done.stderr)
    assert "GRANT CONNECT ON DATABASE shop" in (done.stdout + done.stderr)
    text = (tmp_path / "config.yaml").read_text()
    assert "vault:db/prod" in text
    assert PASSWORD not in (done.stdout + done.stderr) + text
    assert "db/prod" in h.cli("vault list").stdout


def test_without_a_vault_a_password_is_not_written_anywhere(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("plugins: {databases: true, vault: false}\n")
    h = harness(Databases, home=tmp_path)
    done = h.cli("db add prod --url-stdin", input=f"{URL}\n")
    assert done.exit_code == 1
    assert "`hookline plugins enable vault`" in (done.stdout + done.stderr)
    assert not any(
        PASSWORD.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()
    )


def test_the_grants_are_printed_for_what_the_connection_may(
    harness: Callable[..., Harness],
) -> None:
    connections = {
        "a": {"url": "mysql://u@h/till", "mode": "write"},
        "b": {"url": "sqlite:///x.db"},
    }
    h = harness(Databases, config={"databases": {"connections": connections}})
    text = h.cli("db grants a").stdout
    assert "GRANT SELECT, SHOW VIEW, INSERT, UPDATE, DELETE ON till.* TO hookline_writer;" in text
    assert h.cli("db grants b").exit_code == 2
    assert "there are: a, b" in h.cli("db grants c").stderr


def test_the_audit_has_every_statement(desk: Callable[..., Desk], shop: Path) -> None:
    asked = desk(f"sqlite:///{shop}", AuditPlugin, mode="write", answers=["Once"])
    asked.query("SELECT 1")
    asked.query("DELETE FROM orders")
    asked.query("SELECT nothing")
    asked.ask("db_write", db="shop", sql="DELETE FROM order_items WHERE order_id = 1")
    asked.ask("db_write", db="shop", sql="GRANT ALL ON orders TO PUBLIC")
    shown = asked.h.cli("audit show --kind sql --json").stdout
    rows = [json.loads(line) for line in shown.splitlines()]
    found = [(row["verdict"], row["detail"]["sql"]) for row in rows]
    assert sorted(found) == sorted(
        [
            ("ran", "SELECT 1"),
            ("denied", "DELETE FROM orders"),
            ("failed", "SELECT nothing"),
            ("ran", "DELETE FROM order_items WHERE order_id = 1"),
            ("denied", "GRANT ALL ON orders TO PUBLIC"),
        ]
    )
    assert {row["object"] for row in rows} == {"shop"}
