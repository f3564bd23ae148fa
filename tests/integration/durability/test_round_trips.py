"""How many round trips to PostgreSQL a read and a write take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hookline.testing import open_store
from hookline_hookspecs.drivers import Connection
from support.slow_proxy import SlowLine


@pytest.fixture
def line(postgres_server: str) -> Iterator[SlowLine]:
    """A proxy to the run's server that counts round trips."""
    folder = parse_qs(urlsplit(postgres_server).query).get("host", [""])[0]
    if not folder.startswith("/"):
        pytest.skip("the server that is named is not reached by a socket")
    with SlowLine(f"{folder}/.s.PGSQL.5432") as found:
        yield found


def _ask(db: Connection) -> Any:
    return db.fetch("SELECT 1 AS n")


def _ask_twice(db: Connection) -> Any:
    return [*db.fetch("SELECT txid_current_snapshot()::text AS n"), *_ask_again(db)]


def _ask_again(db: Connection) -> Any:
    return db.fetch("SELECT txid_current_snapshot()::text AS n")


async def test_postgres_read_takes_one_round_trip_and_write_two(
    line: SlowLine, postgres_url: str, tmp_path: Path
) -> None:
    schema = postgres_url.rpartition("schema=")[2]
    url = f"postgresql://hookline@127.0.0.1:{line.port}/postgres?schema={schema}"
    async with open_store(tmp_path, url) as store:

        async def journeys(work: Any, *, writes: bool = False) -> int:
            for _ in range(3):  # each connection has been made
                await (store.write(work, key="a") if writes else store.read(work, key="a"))
            counted = []
            for _ in range(3):  # the process may say meanwhile that it lives
                before = line.count()[0]
                await (store.write(work, key="a") if writes else store.read(work, key="a"))
                counted.append(line.count()[0] - before)
            return min(counted)

        assert await journeys(_ask) == 1
        assert await journeys(_ask, writes=True) == 2
        # Two queries share a snapshot, so they need a transaction around them.
        assert await journeys(_ask_twice) == 3
        first, second = await store.read(_ask_twice)
        assert first == second
