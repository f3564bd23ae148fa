"""The SQLite driver, and Python in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def store_url() -> str:
    """The SQLite driver, whichever store the rest of the run uses."""
    return "sqlite"


Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start a script whose ``main(store, *arguments)`` gets an open store."""
    started: list[subprocess.Popen[str]] = []
    frame = """
import asyncio, sys
from pathlib import Path
from hookline.testing import open_store
from hookline_hookspecs.drivers import Migration
{body}
async def start():
    async with open_store(Path(sys.argv[1])) as store:
        await main(store, *sys.argv[2:])
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
