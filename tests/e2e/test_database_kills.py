"""A database write ended by kill -9 is done and can be undone, or not done; never twice."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.machine import Machine

CREATE = "CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER)"
FILL = "INSERT INTO stock VALUES (1, 10), (2, 20), (3, 30)"
BEFORE = [(1, 10), (2, 20), (3, 30)]
TAKE = "UPDATE stock SET n = n - 1 WHERE id < 3"
TAKEN = [(1, 9), (2, 19), (3, 30)]
CLEAR = "DELETE FROM stock WHERE id < 3"
CONFIG = (
    "plugins: {{audit: true, databases: {{connections: {{shop: {{url: '{}', mode: write}}}}}}}}"
)
ALL = "SELECT id, n FROM stock ORDER BY id"


@pytest.fixture(params=["sqlite", "postgres"])
def stock(
    request: pytest.FixtureRequest, machine: Machine, tmp_path: Path
) -> Iterator[Callable[[], list[Any]]]:
    """A function that returns the rows of the machine's database ``shop``."""
    if request.param == "sqlite":
        file = tmp_path / "shop.db"
        with closing(sqlite3.connect(file)) as made:
            made.executescript(f"{CREATE};{FILL}")

        def rows() -> list[Any]:
            with closing(sqlite3.connect(file)) as db:
                return db.execute(ALL).fetchall()

        machine.config(CONFIG.format(f"sqlite:///{file}"))
        yield rows
        return
    server = request.getfixturevalue("postgres_server")
    name = f"stock_{os.getpid()}"
    parts = psycopg.conninfo.conninfo_to_dict(server)
    place = f"/{name}?host={parts.get('host', '')}&port={parts.get('port', 5432)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN".encode())
        admin.execute(f"CREATE DATABASE {name} OWNER {name}".encode())
        with psycopg.connect(f"postgresql://{name}@{place}", autocommit=True) as db:
            db.execute(CREATE.encode())
            db.execute(FILL.encode())
            machine.config(CONFIG.format(f"postgresql://{name}@{place}"))
            yield lambda: db.execute(ALL.encode()).fetchall()
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        admin.execute(f"DROP ROLE {name}".encode())


def write(sql: str) -> dict[str, Any]:
    """A step that writes."""
    return {"tools": [{"name": "db_write", "arguments": {"db": "shop", "sql": sql}}]}


def audited(machine: Machine) -> list[str]:
    """The audit's verdict on each write, in order."""
    shown = machine.run("audit", "show", "--kind", "sql", "--json")
    assert shown.code == 0, shown.err
    rows = sorted(shown.events, key=lambda row: row["at"])
    return [row["verdict"] for row in rows if row["detail"]["tool"] == "db_write"]


@pytest.mark.slow
@pytest.mark.parametrize("sql", [TAKE, CLEAR])
@pytest.mark.parametrize("point", ["db-begun", "db-committed"])
def test_db_write_that_was_killed_is_done_once_or_not_at_all(
    machine: Machine, stock: Callable[[], list[Any]], point: str, sql: str
) -> None:
    steps: list[dict[str, Any]] = [
        {"when": "set it", **write("UPDATE stock SET n = 31 WHERE id = 3")},
        {"when": "take", **write(sql)},
        {"when": "is done", "text": "first"},
        {"when": "Interrupted: ", "text": "I shall look."},
        {"when": "well", "text": "Well."},
    ]
    machine.env["HOOKLINE_MODEL"] = machine.script(*steps)
    first = machine.run("run", "--yes", "--session", "s", "set it")
    assert first.out == "first\n", first
    words = ("run", "--yes", "--session", "s", "take one of each")
    killed = machine.run(*words, env={"HOOKLINE_CRASH_AT": point})
    assert killed.code == -9, killed.err
    done = point == "db-committed"
    after = [(1, 9), (2, 19), (3, 31)] if sql == TAKE else [(3, 31)]
    assert stock() == (after if done else [(1, 10), (2, 20), (3, 31)])
    resumed = machine.run("run", "--yes", "--session", "s", "well?")
    assert "I shall look." in resumed.err, resumed
    assert stock() == (after if done else [(1, 10), (2, 20), (3, 31)])  # not once more
    assert audited(machine) == ["begun", "ran", "begun", "ran" if done else "not done"]
    assert machine.run("audit", "verify").code == 0
    undone = machine.run("db", "undo", "shop", "--yes")
    assert undone.code == 0, undone.err
    assert stock() == ([(1, 10), (2, 20), (3, 31)] if done else BEFORE)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["db-begun", "db-committed"])
def test_db_recovery_in_two_processes_reports_once(
    machine: Machine, tmp_path: Path, point: str
) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as shop:
        shop.executescript(f"{CREATE};{FILL}")
        machine.config(CONFIG.format(f"sqlite:///{file}"))
        steps = ({"when": "take", **write(TAKE)}, {"text": "Well."})
        machine.env["HOOKLINE_MODEL"] = machine.script(*steps)
        words = ("run", "--yes", "--session", "s", "take one of each")
        killed = machine.run(*words, env={"HOOKLINE_CRASH_AT": point})
        assert killed.code == -9, killed.err
        shop.execute("BEGIN EXCLUSIVE")  # so that each of them has to wait for the rows
        both = [machine.start("run", "--session", name, "hello") for name in ("one", "other")]
        time.sleep(1.5)
        shop.execute("ROLLBACK")
        ended = [Machine.wait(process) for process in both]
    assert [one.out for one in ended] == ["Well.\n", "Well.\n"], ended
    assert audited(machine) == ["begun", "ran" if point == "db-committed" else "not done"]


@pytest.mark.slow
def test_db_write_in_two_processes_runs_each_write_once(
    machine: Machine, stock: Callable[[], list[Any]]
) -> None:
    """Exactly the writes reported as done are done, once each."""
    take, n = {"when": "take|done|Error|Denied", **write(TAKE)}, 5
    machine.env["HOOKLINE_MODEL"] = machine.script(*[take] * n, {"text": "enough"})
    both = [
        machine.start("run", "--yes", "--json", "--session", name, "take them")
        for name in ("one", "other")
    ]
    ended = [Machine.wait(process) for process in both]
    assert [one.code for one in ended] == [0, 0], ended
    results = [e["text"] for one in ended for e in one.events if e["type"] == "tool_result"]
    assert len(results) == 2 * n
    done = sum("2 rows changed" in text for text in results)
    assert done
    assert all(t.startswith(("Error: ", "Denied: ")) for t in results if "rows changed" not in t)
    assert stock() == [(1, 10 - done), (2, 20 - done), (3, 30)]
    verdicts = audited(machine)
    assert verdicts.count("ran") == done
    assert machine.run("db", "undo", "shop", "--yes").code == 0
    assert stock() == [(1, 11 - done), (2, 21 - done), (3, 30)]
