"""A database of another version: a newer one is left alone, an older one is migrated."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from hookline.store.journal import core_migrations
from support.durability.computer import Computer
from support.durability.model_wires import serving


@pytest.fixture
def used(computer: Computer) -> Computer:
    """A computer whose database holds a session."""
    with serving("anthropic", lambda _words: "Hello.") as wire:
        done = computer.run("run", "hi", "--session", "s", **wire.env)
    assert done.code == 0, done.err
    assert not (computer.home / "backups").exists()
    return computer


def change(computer: Computer, script: str) -> None:
    """Change the database by hand, as another version would have left it."""
    with closing(sqlite3.connect(computer.database)) as db:
        db.executescript(script)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


OLDER = """
DROP TABLE rewrites;
ALTER TABLE sessions DROP COLUMN warm_until;
ALTER TABLE usage DROP COLUMN cache_write_1h;
ALTER TABLE usage DROP COLUMN input_cost;
ALTER TABLE usage DROP COLUMN broken;
DELETE FROM migrations WHERE component = 'core' AND number IN (2, 5);
"""
"""Takes back core's second migration: the database as the version before it had left it."""


@pytest.mark.slow
def test_newer_database_is_refused_and_untouched(used: Computer) -> None:
    change(used, "INSERT INTO migrations VALUES ('core', 999, 'later', 'sum', 0)")
    before = used.database.read_bytes()
    refused = used.run("run", "again", "--session", "s", HOOKLINE_MODEL="anthropic/fake")
    assert (refused.code, refused.out) == (1, "")
    assert len(refused.err.strip().splitlines()) == 1
    assert "The tables of core are newer than this version" in refused.err
    assert used.database.read_bytes() == before
    assert not (used.home / "backups").exists()


@pytest.mark.slow
def test_older_database_is_backed_up_and_migrated(used: Computer) -> None:
    change(used, OLDER)
    assert [message["role"] for message in used.exported("s")] == ["user", "assistant"]
    assert used.rows("SELECT count(*) FROM rewrites") == [0]
    [copy] = (used.home / "backups").iterdir()
    with closing(sqlite3.connect(copy)) as old:
        assert old.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert old.execute("SELECT count(*) FROM messages").fetchone() == (2,)
        assert not old.execute("SELECT 1 FROM sqlite_master WHERE name = 'rewrites'").fetchall()


@pytest.mark.slow
def test_migration_after_a_kill_is_completed_by_the_next_start(used: Computer) -> None:
    change(used, OLDER)
    killed = used.run("sessions", "list", HOOKLINE_CRASH_AT="mid-migration")
    assert killed.code == -9, "mid-migration is never passed"
    assert used.is_whole()
    assert [message["role"] for message in used.exported("s")] == ["user", "assistant"]
    numbers = [step.number for step in core_migrations("sqlite")]
    assert used.rows("SELECT number FROM migrations WHERE component = 'core'") == numbers
    assert used.rows("SELECT count(*) FROM rewrites") == [0]
    assert used.is_whole()


KILLED_AT = """
import asyncio, os, signal, sqlite3, sys
from importlib.metadata import entry_points
from pathlib import Path
from hookline_hookspecs import Migration

class Connection(sqlite3.Connection):
    def execute(self, sql, *values):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(sql, *values)

def connect(path, **options):
    return sqlite3.connect(path, factory=Connection, **options)

STEPS = [
    Migration(1, "one", "CREATE TABLE later (n); INSERT INTO later VALUES (1);"),
    Migration(2, "two", "ALTER TABLE later ADD COLUMN text; UPDATE later SET text = 'two';"),
]

async def main(n):
    global left
    [driver] = entry_points(group="hookline.stores", name="sqlite")
    left = 0
    store = driver.load()("sqlite", Path(sys.argv[1]), connect=connect)
    await store.open()
    left = n
    await store.migrate("later", STEPS)
    left = 0
    await store.close()

for line in sys.stdin:
    child = os.fork()
    if not child:
        asyncio.run(main(int(line)))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""For each number n that it reads, a process migrates a component in two steps and is killed at
the n-th statement (0 is never); its return code is printed."""


@pytest.mark.slow
@pytest.mark.sqlite
def test_migration_killed_at_any_statement_is_completed(used: Computer) -> None:
    def migrate(n: int) -> int:
        assert victim.stdin
        assert victim.stdout
        victim.stdin.write(f"{n}\n")
        victim.stdin.flush()
        return int(victim.stdout.readline())

    before, n = used.database.read_bytes(), 1
    command = [sys.executable, "-c", KILLED_AT, str(used.home)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as victim:
        while migrate(n) == -9:
            assert used.is_whole()
            assert migrate(0) == 0
            assert used.rows("SELECT n, text FROM later") == [(1, "two")]
            assert used.rows("SELECT number FROM migrations WHERE component = 'later'") == [1, 2]
            used.database.write_bytes(before)
            n += 1
    assert n > 8, "the migration did not go through the connection that kills"


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_setup_of_a_new_home_is_completed_after_a_kill(computer: Computer, n: int) -> None:
    killed = computer.run("sessions", "list", HOOKLINE_CRASH_AT=f"mid-migration:{n}")
    assert killed.code == -9, "mid-migration is never passed"
    listed = computer.run("sessions", "list")
    assert (listed.code, listed.out) == (0, "No sessions yet.\n")
    assert computer.is_whole()
