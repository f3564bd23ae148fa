"""Errors for a server that is unreachable, refuses access or restarts."""

from __future__ import annotations

import asyncio
import signal
import socket
from functools import partial
from pathlib import Path

import pytest
from hookline.testing import open_store
from hookline_hookspecs.drivers import Connection, Migration
from hookline_hookspecs.errors import StoreError
from hookline_postgres.testing import Server

NOTES = Migration(1, "notes", "CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT NOT NULL)")


def _execute(db: Connection, sql: str) -> int:
    return db.execute(sql)


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


@pytest.mark.slow
async def test_connection_errors_have_a_sentence_without_password(tmp_path: Path) -> None:
    port = free_port()

    async def told(url: str) -> str:
        with pytest.raises(StoreError) as caught:
            async with open_store(tmp_path, url):
                pass
        assert "s3cret" not in str(caught.value)
        return str(caught.value)

    nobody = await told(f"postgresql://hookline:s3cret@127.0.0.1:{port}/postgres")
    assert "cannot be reached" in nobody
    assert "Start the server" in nobody
    with Server(port=port):
        assert "refused the user or the password" in await told(
            f"postgresql://hookline:s3cret@127.0.0.1:{port}/postgres"
        )
    with Server(port=port) as server:
        assert "no such database" in await told(server.database("nothing"))


@pytest.mark.slow
async def test_writes_and_listeners_survive_server_restart(
    own_postgres: Server, tmp_path: Path
) -> None:
    async with open_store(tmp_path, own_postgres.url) as store:
        await store.migrate("notes", [NOTES])
        async with store.own("s", 1), store.listen("t") as heard:
            writes = []
            for n in range(60):
                sql = f"INSERT INTO notes VALUES ({n}, 'x')"
                work = partial(_execute, sql=sql)
                writes.append(store.write(work, key=str(n % 5), durable=True))
                await asyncio.sleep(0.005)
                if n == 20:
                    await asyncio.to_thread(own_postgres.stop, signal.SIGQUIT)
                if n == 30:
                    await asyncio.to_thread(own_postgres.start)
            assert await asyncio.gather(*writes) == [1] * 60
            async with asyncio.timeout(60):
                while await anext(heard) != "":
                    pass
                await store.notify("t", "again")
                while await anext(heard) != "again":
                    pass
        rows = await store.read(lambda db: db.fetch("SELECT count(*) AS n FROM notes"))
        assert rows[0]["n"] == 60
