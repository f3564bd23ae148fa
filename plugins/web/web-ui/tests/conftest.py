"""Gateways with the page, one for most tests, and one of a test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from .browser import PATIENCE, Gateway


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that is up, for every test that needs none of its own."""
    made = Gateway(tmp_path_factory.mktemp("page"))
    made.configure()
    made.start()
    yield made
    made.close()


@pytest.fixture
def own_gateway(tmp_path: Path) -> Iterator[Gateway]:
    """A gateway of one test, which is not up yet."""
    made = Gateway(tmp_path)
    yield made
    made.close()


@pytest.fixture
def play(gateway: Gateway) -> Callable[[Callable[..., Awaitable[None]]], None]:
    """Run a story of the owner and the other people that it names."""

    def run(story: Callable[..., Awaitable[None]], *names: str) -> None:
        async def play() -> None:
            people = [await gateway.person(name) for name in names or ("owner",)]
            try:
                async with asyncio.timeout(PATIENCE):
                    await story(*people)
            finally:
                for one in people:
                    await one.close()

        asyncio.run(play())

    return run
