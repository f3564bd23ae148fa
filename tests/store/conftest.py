"""An open store in a temporary home, and a way to run Python in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from hookline_sqlite import SqliteStore


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def store(home: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore("sqlite", home)
    await store.open()
    yield store
    await store.close()


Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start a script whose ``main(store, *arguments)`` gets an open store."""
    started: list[subprocess.Popen[str]] = []
    frame = """
import asyncio, sys
from pathlib import Path
from hookline_sqlite import SqliteStore
from hookline_hookspecs.drivers import Migration
{body}
async def start():
    store = SqliteStore("sqlite", Path(sys.argv[1]))
    await store.open()
    await main(store, *sys.argv[2:])
    await store.close()
asyncio.run(start())
"""

    def start(body: str, home: Path, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", frame.format(body=textwrap.dedent(body)), str(home), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
