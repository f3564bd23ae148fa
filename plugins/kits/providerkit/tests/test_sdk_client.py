"""The SDK's client: when it is made, for which event loop, and what closing does."""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hookline_providerkit import SdkClient


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


async def test_client_is_made_on_a_thread_by_the_first_request() -> None:
    make = Factory()
    sdk = SdkClient(make)
    assert make.made == []
    client = await sdk.get()
    assert client is make.made[0]
    assert client.thread is not threading.current_thread()


async def test_client_is_shared_by_requests_at_the_same_time() -> None:
    make = Factory()
    sdk = SdkClient(make)
    clients = await asyncio.gather(*(sdk.get() for _ in range(20)))
    assert clients == make.made * 20


def test_client_belongs_to_one_event_loop() -> None:
    sdk = SdkClient(Factory())
    first = asyncio.run(sdk.get())
    second = asyncio.run(sdk.get())
    assert first is not second


async def test_client_is_made_again_after_closing() -> None:
    sdk = SdkClient(Factory())
    first = await sdk.get()
    await sdk.aclose()
    assert first.closed
    assert not (await sdk.get()).closed


async def test_maker_errors_reach_every_request() -> None:
    make = Factory(ValueError("no key"))
    sdk = SdkClient(make)
    for _ in range(2):
        with pytest.raises(ValueError, match="no key"):
            await sdk.get()
    make.fault = None
    assert await sdk.get() is make.made[0]


@pytest.fixture
def thawed() -> Iterator[None]:
    """What the process has frozen is collected again after the test."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
async def test_import_pauses_the_garbage_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    collecting: list[bool] = []

    class Importing(Factory):
        def __call__(self) -> Client:
            collecting.append(gc.isenabled())
            monkeypatch.setitem(sys.modules, "an_sdk", ModuleType("an_sdk"))
            return super().__call__()

    frozen = gc.get_freeze_count()
    await SdkClient(Importing()).get()
    assert collecting == [False]
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen


async def test_garbage_collector_resumes_when_no_client_was_made() -> None:
    with pytest.raises(ValueError, match="no key"):
        await SdkClient(Factory(ValueError("no key"))).get()
    assert gc.isenabled()


@pytest.mark.parametrize("is_wrapped", [False, True])
async def test_client_waits_for_a_module_that_another_thread_is_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_wrapped: bool
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
            if is_wrapped:
                raise RuntimeError("no request can be sent") from error
            raise
        finally:
            half.GO.set()
        return Client()

    assert isinstance(await SdkClient(make).get(), Client)
    importing.join()
    del sys.modules["half_there"]
