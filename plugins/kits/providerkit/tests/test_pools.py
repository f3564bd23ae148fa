"""Pools: how many clients there are, when they are made, and what closing does."""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType

import pytest
from hookline_providerkit import Pools
from hookline_providerkit.pools import POOLED


class Client:
    """Remembers where it was made and whether it was closed."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Factory:
    """Makes clients, and keeps them."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.made: list[Client] = []
        self.fault = fault

    def __call__(self) -> Client:
        if self.fault:
            raise self.fault
        self.made.append(Client())
        return self.made[-1]


async def test_a_client_is_made_on_a_thread_when_it_is_asked_for() -> None:
    make = Factory()
    pools = Pools(make)
    assert make.made == []
    async with pools.client() as client:
        assert client is make.made[0]
    assert client.thread is not threading.current_thread()


async def test_requests_after_each_other_share_a_client() -> None:
    make = Factory()
    pools = Pools(make)
    for _ in range(POOLED + 1):
        async with pools.client():
            pass
    assert len(make.made) == 1


async def test_more_requests_at_a_time_open_more_pools() -> None:
    make = Factory()
    pools = Pools(make)
    async with AsyncExitStack() as stack:
        requests = [stack.enter_async_context(pools.client()) for _ in range(2 * POOLED + 1)]
        clients = await asyncio.gather(*requests)
        assert len(make.made) == 3
        assert max(clients.count(client) for client in make.made) == POOLED
    async with pools.client() as client:
        assert client is make.made[0]


async def test_a_request_that_fails_gives_its_connection_back() -> None:
    make = Factory()
    pools = Pools(make)
    for _ in range(POOLED + 1):
        with pytest.raises(KeyError):
            async with pools.client():
                raise KeyError("listener")
    assert len(make.made) == 1


async def test_closed_pools_open_again() -> None:
    make = Factory()
    pools = Pools(make)
    async with pools.client() as first:
        pass
    await pools.aclose()
    assert first.closed
    async with pools.client() as second:
        assert not second.closed


async def test_what_the_maker_raises_is_raised_each_time() -> None:
    make = Factory(ValueError("no key"))
    pools = Pools(make)
    for _ in range(2):
        with pytest.raises(ValueError, match="no key"):
            async with pools.client():
                pass
    make.fault = None
    async with pools.client() as client:
        assert client is make.made[0]


@pytest.fixture
def thawed() -> Iterator[None]:
    """What the process has frozen is collected again after the test."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
async def test_an_sdk_is_imported_without_the_garbage_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collecting: list[bool] = []

    class Importing(Factory):
        def __call__(self) -> Client:
            collecting.append(gc.isenabled())
            monkeypatch.setitem(sys.modules, "an_sdk", ModuleType("an_sdk"))
            return super().__call__()

    frozen = gc.get_freeze_count()
    async with Pools(Importing()).client():
        pass
    assert collecting == [False]
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen


async def test_a_client_without_an_import_freezes_nothing() -> None:
    async with Pools(Factory()).client():  # imports what the first of a process needs
        pass
    frozen = gc.get_freeze_count()
    async with Pools(Factory()).client():
        pass
    assert gc.get_freeze_count() == frozen


async def test_the_garbage_collector_is_on_again_when_no_client_was_made() -> None:
    with pytest.raises(ValueError, match="no key"):
        async with Pools(Factory(ValueError("no key"))).client():
            pass
    assert gc.isenabled()


@pytest.mark.parametrize("is_told", [False, True])
async def test_a_module_that_another_thread_imports_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    module = "import threading\nBEGUN = threading.Event()\nGO = threading.Event()\n"
    (tmp_path / "half_there.py").write_text(f"{module}BEGUN.set()\nGO.wait(30)\nWHOLE = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    importing = threading.Thread(target=importlib.import_module, args=("half_there",))
    importing.start()
    while (half := sys.modules.get("half_there")) is None or not hasattr(half, "BEGUN"):
        await asyncio.sleep(0.001)

    def make() -> Client:
        try:
            assert half.WHOLE
        except AttributeError as error:
            if is_told:
                raise RuntimeError("no request can be sent") from error
            raise
        finally:
            half.GO.set()
        return Client()

    async with Pools(make).client() as client:
        assert isinstance(client, Client)
    importing.join()
    del sys.modules["half_there"]
