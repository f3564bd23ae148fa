"""Process locks on a store that machines share: files are local, the store knows all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hookline.testing import open_store
from hookline_hookspecs.process_lock import ProcessLock


def storage(folder: Path) -> Any:
    folder.mkdir()
    return SimpleNamespace(dir=folder)


async def test_process_on_another_machine_is_alive_until_it_leaves(
    postgres_url: str, tmp_path: Path
) -> None:
    async with (
        open_store(tmp_path / "a", postgres_url) as one,
        open_store(tmp_path / "b", postgres_url) as two,
    ):
        here = ProcessLock(storage(tmp_path / "here"), one)
        there = ProcessLock(storage(tmp_path / "there"), two)
        await there.join()
        await there.join()
        assert not here.is_alive(there.id)  # its file is not on this machine
        assert await here.lives(there.id)
        assert await there.lives(there.id)
        await there.leave()
        async with asyncio.timeout(20):
            while await here.lives(there.id):  # it is given back in the background
                await asyncio.sleep(0.01)
        assert not await here.lives("never-was")


async def test_process_lock_on_sqlite_uses_the_lock_file(tmp_path: Path) -> None:
    async with open_store(tmp_path / "home", "sqlite") as store:
        folder = storage(tmp_path / "locks")
        one, two = ProcessLock(folder, store), ProcessLock(folder, store)
        await one.join()
        assert await two.lives(one.id)
        await one.leave()
        assert not await two.lives(one.id)
