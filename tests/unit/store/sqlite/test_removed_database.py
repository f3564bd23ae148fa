"""A database that is removed while in use refuses writes with a reason."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from hookline.testing import open_store
from hookline_hookspecs.errors import StoreError


async def test_write_to_a_removed_database_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    caplog.set_level(logging.ERROR)
    async with open_store(home) as store:
        await store.write(lambda db: db.execute("CREATE TABLE t (x)"), durable=True)
        shutil.move(home, tmp_path / "away")
        for _ in range(3):
            with pytest.raises(StoreError, match="was removed or replaced"):
                await store.write(lambda db: db.execute("INSERT INTO t VALUES (1)"), durable=True)
        home.mkdir()
        (home / "hookline.db").touch()
        with pytest.raises(StoreError, match="was removed or replaced"):
            await store.write(lambda db: db.execute("INSERT INTO t VALUES (2)"))
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        shutil.rmtree(home)
        shutil.move(tmp_path / "away", home)
        await store.write(lambda db: db.execute("INSERT INTO t VALUES (3)"), durable=True)
        rows = await store.read(lambda db: db.fetch("SELECT x FROM t"))
        assert [row["x"] for row in rows] == [3]
