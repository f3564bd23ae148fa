"""``hookline db``: where the URL is stored, what is printed, and the audit."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_artifacts import Artifacts
from hookline_audit import AuditPlugin
from hookline_databases import Databases
from hookline_permissions import Permissions
from hookline_provenance import Provenance
from hookline_vault import VaultPlugin

PASSWORD = "s3cret-canary"
URL = f"postgresql://reader:{PASSWORD}@127.0.0.1:1/shop"


@pytest.mark.slow
def test_db_add_stores_a_url_with_a_password_in_the_vault(
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


@pytest.mark.slow
def test_db_add_without_a_vault_writes_no_password(
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


def test_db_grants_prints_grants_for_the_connection_mode(harness: Callable[..., Harness]) -> None:
    connections = {
        "a": {"url": "mysql://u@h/till", "mode": "write"},
        "b": {"url": "sqlite:///x.db"},
    }
    h = harness(Databases, config={"databases": {"connections": connections}})
    text = h.cli("db grants a").stdout
    assert "GRANT SELECT, SHOW VIEW, INSERT, UPDATE, DELETE ON till.* TO hookline_writer;" in text
    assert h.cli("db grants b").exit_code == 2
    assert "Known databases: a, b" in h.cli("db grants c").stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "key", "told"),
    [
        ({"url": "sqlite:///x.db", "mode": "rw"}, "bad.mode", "write 'read-only' or 'write'"),
        ({"mode": "write"}, "bad", "it has no url; write url: sqlite:///PATH"),
        ({"urll": "sqlite:///x.db"}, "bad", "unknown key urll; did you mean url?"),
        ({"url": 5}, "bad.url", "write text, in quotes"),
        (URL, "bad", "it is not a mapping; write {url: …}"),
        (None, "bad", "it is not a mapping; write {url: …}"),
    ],
)
def test_only_an_invalid_connection_is_left_out(
    harness: Callable[..., Harness], tmp_path: Path, entry: object, key: str, told: str
) -> None:
    sqlite3.connect(tmp_path / "good.db").close()
    good = {"url": f"sqlite:///{tmp_path}/good.db"}
    connections = {"good": good, "bad": entry, "b d": good}
    file = tmp_path / "home" / "config.yaml"
    file.parent.mkdir()
    file.write_text(json.dumps({"plugins": {"databases": {"connections": connections}}}))
    h = harness(Databases, home=file.parent, config={"databases": {"connections": connections}})
    listed = h.cli("db list")
    assert listed.exit_code == 0
    assert listed.stdout.startswith("good ")
    assert f"config.yaml: plugins.databases.connections.{key}: {told}" in listed.stderr
    assert "'b d' is not a valid database name" in listed.stderr
    assert told in h.cli("db test bad").stderr
    assert PASSWORD not in listed.stdout + listed.stderr + h.cli("db test bad").stderr
    h.model.steps += [[calls("db_list"), calls("db_query", db="good", sql="SELECT 7")], "done"]
    results = h.send("look").tool_calls
    assert "good: sqlite" in results[0].text
    assert told in results[0].text
    assert "7" in results[1].text
    h.model.steps += [[calls("db_query", db="bad", sql="SELECT 7")], "done"]
    [refused] = h.send("and bad").tool_calls
    assert not refused.ok
    assert told in refused.text
    assert "there is a database bad" in h.cli("db add bad --url-stdin", input="sqlite:///y").stderr
    assert h.cli("db remove bad").exit_code == 0
    assert "bad" not in file.read_text()


def test_check_names_an_invalid_database_url(harness: Callable[..., Harness]) -> None:
    connections = {"good": {"url": "sqlite:///x.db"}, "far": {"url": "sqlserver://h/d"}}
    h = harness(Databases, config={"databases": {"connections": connections}})
    [check] = [one for name, one in h.checks() if name == "databases"]
    checked: Any = check.run()
    assert not checked.ok
    assert (
        "connections.far.url: the url of database far is not valid (it begins with 'sqlserver')"
        in (checked.detail)
    )
    assert "good" not in checked.detail


@pytest.mark.slow
def test_only_an_entry_with_an_unset_variable_is_left_out(tmp_path: Path) -> None:
    """Also an entry with an unknown vault name; other plugins are switched off as a whole."""
    file = tmp_path / "config.yaml"
    file.write_text(
        "plugins:\n"
        "  databases:\n"
        "    connections:\n"
        "      good: {url: 'sqlite:///x.db'}\n"
        "      unset: {url: '${NO_SUCH_URL}'}\n"
        "      gone: {url: 'vault:db/gone'}\n"
        "  mcp:\n"
        "    servers:\n"
        "      good: {command: echo}\n"
        "      unset: {url: 'https://example.org', headers: {a: '${NO_SUCH_KEY}'}}\n"
        "  insights: {prices: {a/b: {input: '${NO_SUCH_PRICE}'}}}\n"
    )

    def run(*words: str) -> str:
        program = [sys.executable, "-m", "hookline", "--home", str(tmp_path), *words]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    listed = run("db", "list")
    assert "good             sqlite " in listed
    assert "connections.unset.url: NO_SUCH_URL is not set; set it in .env" in listed
    assert "connections.gone.url: the vault has no secret named db/gone" in listed
    listed = run("mcp", "list")
    assert "good  " in listed
    assert "servers.unset.headers.a: NO_SUCH_KEY is not set" in listed
    checked = run("config", "check")
    assert f"{file}:5: plugins.databases.connections.unset.url: NO_SUCH_URL is not set" in checked
    assert f"{file}:10: plugins.mcp.servers.unset.headers.a: NO_SUCH_KEY is not set" in checked
    assert checked.count("only this entry is left out.") == 2
    assert f"plugin insights is not on: {file}:11: plugins.insights.prices.a/b.input" in checked
    assert run("db", "remove", "unset") == "unset is forgotten.\n"


@pytest.mark.slow
def test_config_check_names_the_invalid_connection(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "plugins:\n  databases:\n    connections:\n      bad: {url: 'sqlite:///x', mode: rw}\n"
    )
    program = [sys.executable, "-m", "hookline", "--home", str(tmp_path), "config", "check"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    wrong = "plugins.databases.connections.bad.mode: write 'read-only' or 'write'"
    assert done.stdout + done.stderr == (
        f"hookline: {file}:4: {wrong}; only this entry is skipped.\n"
    )
    assert done.returncode == 2


@pytest.mark.slow
def test_audit_has_every_database_statement(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
    connection.execute("INSERT INTO orders VALUES (1, 'call first'), (2, NULL)")
    connection.commit()
    connection.close()
    shop = {"url": f"sqlite:///{tmp_path}/shop.db", "mode": "write"}
    h = harness(
        Databases, AuditPlugin, Artifacts, Permissions, Provenance,
        config={"databases": {"connections": {"shop": shop}}}, answers=["Allow once"],
    )  # fmt: skip
    told = [
        ("db_query", "ran", "SELECT 1"),
        ("db_query", "denied", "DELETE FROM orders"),
        ("db_query", "failed", "SELECT nothing"),
        ("db_write", "ran", "DELETE FROM orders WHERE id = 1"),
        ("db_write", "denied", "GRANT ALL ON orders TO PUBLIC"),
    ]
    begun = ("db_write", "begun", "DELETE FROM orders WHERE id = 1")
    for number, (tool, _, sql) in enumerate(told):
        h.model.steps += [calls(tool, db="shop", sql=sql), "done"]
        result = h.send("do it", session=f"s{number}").tool_calls[-1]
        if sql.startswith("DELETE") and tool == "db_write":
            assert "rows before the write" in result.notes[0]
    shown = h.cli("audit show --kind sql --json").stdout
    rows = [json.loads(line) for line in shown.splitlines()]
    found = [(row["detail"]["tool"], row["verdict"], row["detail"]["sql"]) for row in rows]
    assert sorted(found) == sorted([*told, begun])
    assert {row["object"] for row in rows} == {"shop"}


def test_audit_has_schema_lookups(harness: Callable[..., Harness], tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)")
    connection.close()
    shop, gone = ({"url": f"sqlite:///{tmp_path}/{name}.db"} for name in ("shop", "gone"))
    connections = {"shop": shop, "gone": gone}
    h = harness(Databases, AuditPlugin, config={"databases": {"connections": connections}})
    for db in connections:
        h.model.steps += [calls("db_schema", db=db, like="ord"), "done"]
        h.send("look", session=db)
    shown = h.cli("audit show --kind sql --json").stdout
    rows = {row["object"]: row for row in map(json.loads, shown.splitlines())}
    assert (rows["shop"]["verdict"], rows["gone"]["verdict"]) == ("ran", "failed")
    assert rows["shop"]["detail"] == {"tool": "db_schema", "like": "ord", "rows": 1}
    assert "gone.db" in rows["gone"]["detail"]["reason"]


def test_db_add_refuses_an_unquoted_password_without_showing_it(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    """The text after a ``/``, ``?`` or ``#`` in a password is not taken for the database."""
    (tmp_path / "config.yaml").write_text("plugins: {databases: true, vault: true}\n")
    h = harness(Databases, VaultPlugin, home=tmp_path)
    h.cli("vault rekey --to file")
    for sign in "/?#":
        for head in ("12", "s3c@12", "s3c"):
            url = f"postgresql://me:{head}{sign}{PASSWORD}@127.0.0.1:1/shop"
            done = h.cli("db add prod --url-stdin", input=f"{url}\n")
            assert done.exit_code == 2, url
            assert "%2F" in done.stderr
            assert PASSWORD not in done.stdout + done.stderr
    assert PASSWORD not in (tmp_path / "config.yaml").read_text()


@pytest.mark.slow
def test_db_add_stores_a_password_in_url_options_in_the_vault(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("plugins: {databases: true, vault: true}\n")
    h = harness(Databases, VaultPlugin, home=tmp_path)
    h.cli("vault rekey --to file")
    url = f"postgresql://127.0.0.1:1/shop?user=me&password={PASSWORD}"
    assert h.cli("db add prod --url-stdin", input=f"{url}\n").exit_code == 0
    text = (tmp_path / "config.yaml").read_text()
    assert "vault:db/prod" in text
    assert PASSWORD not in text
