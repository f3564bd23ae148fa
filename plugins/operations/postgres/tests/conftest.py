"""A store in a schema of its own, and a way to run Python in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator

import pytest

Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def store_url(postgres_url: str) -> str:
    """What the fixture ``store`` opens."""
    return postgres_url


@pytest.fixture
def spawn(postgres_url: str) -> Iterator[Spawn]:
    """Start a script whose ``main(store, *arguments)`` gets an open store."""
    started: list[subprocess.Popen[str]] = []
    frame = """
import asyncio, os, signal, sys
from pathlib import Path
from hookline.testing import open_store
{body}
async def start():
    async with open_store(Path("/nowhere"), sys.argv[1]) as store:
        await main(store, *sys.argv[2:])
asyncio.run(start())
"""

    def start(body: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                frame.format(body=textwrap.dedent(body)),
                postgres_url,
                *arguments,
            ],
            stdin=subprocess.PIPE,
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
