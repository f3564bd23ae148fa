"""Several processes on one home, and processes that are killed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.store.sqlite import SqliteStore
from hookline_hookspecs.errors import StoreError

Spawn = Callable[..., "subprocess.Popen[str]"]

WRITER = """
TABLE = Migration(1, "t", "CREATE TABLE t (who TEXT, n INTEGER, PRIMARY KEY (who, n))")
def put(who, n):
    return lambda c: c.execute("INSERT INTO t VALUES (:who, :n)", {"who": who, "n": n})
async def main(store, who, count):
    await store.migrate("t", [TABLE])
    for n in range(int(count)):
        await store.write(put(who, n), durable=n % 5 == 0)
        print(n, flush=True)
"""

HOLDER = """
async def main(store, session):
    async with store.own(session, 0):
        print("held", flush=True)
        await asyncio.sleep(60)
"""


@pytest.mark.slow
async def test_four_processes_open_migrate_and_write_at_once(
    store: SqliteStore, store_home: Path, spawn: Spawn
) -> None:
    processes = [spawn(WRITER, store_home, f"p{n}", "150") for n in range(4)]
    for process in processes:
        _, errors = await asyncio.to_thread(process.communicate)
        assert (process.returncode, errors) == (0, "")
    rows = await store.read(lambda c: c.fetch("SELECT who, count(*) AS n FROM t GROUP BY who"))
    assert {row["who"]: row["n"] for row in rows} == {f"p{n}": 150 for n in range(4)}


@pytest.mark.slow
async def test_four_processes_create_a_new_home_at_once(store_home: Path, spawn: Spawn) -> None:
    processes = [spawn(WRITER, store_home, f"p{n}", "1") for n in range(4)]
    for process in processes:
        _, errors = await asyncio.to_thread(process.communicate)
        assert (process.returncode, errors) == (0, "")


@pytest.mark.slow
async def test_acknowledged_writes_survive_a_kill(
    store: SqliteStore, store_home: Path, spawn: Spawn
) -> None:
    process = spawn(WRITER, store_home, "victim", "100000")
    assert process.stdout
    acknowledged = [int(process.stdout.readline()) for _ in range(100)]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    acknowledged += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    rows = await store.read(lambda c: c.fetch("SELECT n FROM t"))
    assert set(acknowledged) <= {row["n"] for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("session", ["s1", "../../x:y/é", "long" * 200])
async def test_session_is_owned_by_one_process_until_it_dies(
    store: SqliteStore, store_home: Path, spawn: Spawn, session: str
) -> None:
    process = spawn(HOLDER, store_home, session)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    with pytest.raises(StoreError, match=rf"in use by process {process.pid} since \d\d:\d\d:\d\d"):
        async with store.own(session, 0.1):
            pass
    async with store.own("another", 0):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    async with store.own(session, 5):
        assert {path.parent for path in store_home.rglob("*.lock")} == {store_home / "locks"}


@pytest.mark.slow
@pytest.mark.parametrize("has_ranges", [True, False])
async def test_process_that_only_checks_ownership_is_not_an_owner(
    store_home: Path, spawn: Spawn, monkeypatch: pytest.MonkeyPatch, has_ranges: bool
) -> None:
    patch = "import hookline.store.sqlite.store as s\ns.byte_range_locks = None\n"
    before = "" if has_ranges else patch
    if not has_ranges:
        monkeypatch.setattr("hookline.store.sqlite.store.byte_range_locks", None)
    store = SqliteStore("sqlite", store_home)
    await store.open()
    for program in (HOLDER.replace("session, 0", "session, -1"), HOLDER):
        process = spawn(before + program, store_home, "s")
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        if program is HOLDER:
            with pytest.raises(StoreError, match=rf"in use by process {process.pid}"):
                async with store.own("s", -1):
                    pass
        else:
            async with store.own("s", -1), store.own("s", -1):
                pass
        process.kill()
        process.wait()
    async with store.own("s", 5):
        with pytest.raises(StoreError, match="in use by process"):
            async with store.own("s", -1):
                pass
    await store.close()


async def test_session_lock_serializes_tasks_of_one_process(store: SqliteStore) -> None:
    inside = 0

    async def enter() -> None:
        nonlocal inside
        async with store.own("s", 30):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0.001)
            inside -= 1

    await asyncio.gather(*(enter() for _ in range(4)))
    async with store.own("s", 0):
        with pytest.raises(StoreError, match="in use by process"):
            async with store.own("s", 0):
                pass


async def test_session_lock_is_released_when_its_body_raises(store: SqliteStore) -> None:
    with pytest.raises(LookupError):
        async with store.own("s", 0):
            raise LookupError
    async with store.own("s", 0):
        pass
