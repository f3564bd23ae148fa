"""Leases of several processes: free at once after a kill, fenced after a freeze."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from hookline.testing import open_store
from hookline_hookspecs.drivers import Migration
from hookline_hookspecs.errors import StoreError

from .conftest import Spawn

NOTES = Migration(1, "notes", "CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT NOT NULL)")
OWNS = """
async def main(store, *_):
    async with store.own("s", 10) as mine:
        print(mine.epoch, flush=True)
        await asyncio.sleep(3600)
"""


@pytest.mark.long
async def test_lease_of_killed_process_is_free_at_once(
    spawn: Spawn, postgres_url: str, tmp_path: Path
) -> None:
    async with open_store(tmp_path, postgres_url) as store:
        process = spawn(OWNS)
        assert process.stdout is not None
        epoch = int(await asyncio.to_thread(process.stdout.readline))
        with pytest.raises(StoreError, match=f"in use by process {process.pid}"):
            async with store.own("s", 0.1):
                pass
        process.kill()
        process.wait()
        async with store.own("s", 10) as mine:
            assert mine.epoch > epoch


@pytest.mark.slow
async def test_lease_of_frozen_process_expires_and_process_is_fenced(
    spawn: Spawn, postgres_url: str, tmp_path: Path
) -> None:
    async with open_store(tmp_path, postgres_url) as store:
        await store.migrate("notes", [NOTES])
        process = spawn(
            """
            from hookline_hookspecs import Fenced

            async def main(store, *_):
                async with store.own("s", 10):
                    print("mine", flush=True)
                    await asyncio.to_thread(sys.stdin.readline)
                    try:
                        sql = "INSERT INTO notes VALUES (1, 'old')"
                        await store.write(lambda db: db.execute(sql))
                    except Fenced as error:
                        print(error, flush=True)
            """
        )
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreError, match="in use"):
            async with store.own("s", 5):
                pass
        async with store.own("s", 40):
            process.send_signal(signal.SIGCONT)
            out, _ = await asyncio.to_thread(process.communicate, "\n", 60)
            assert "others have taken over its work" in out
        assert await store.read(lambda db: db.fetch("SELECT 1 FROM notes")) == []
