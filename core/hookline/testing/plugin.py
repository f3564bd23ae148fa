"""The pytest plugin: the fixtures ``harness``, ``clock`` and ``store``, and an option.

It does not import Hookline until a test requests a fixture.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .clock import Clock
    from .harness import Harness


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--hookline-store``: the store that the fixture ``store`` opens."""
    parser.getgroup("hookline").addoption(
        "--hookline-store",
        default="",
        metavar="URL",
        help="store of the fixture `store`: a driver name or URL "
        "(default: HOOKLINE_TEST_STORE or sqlite)",
    )


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """Forget the workspaces of the test: a later one may put a program where this one wrote."""
    if (programs := sys.modules.get("hookline_hookspecs.own_programs")) is not None:
        programs.forget_writable_folders()


@pytest.fixture
def harness(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Harness]]:
    """A factory of harnesses: ``harness(MyPlugin, config={…}, model=["hi"])``; see ``Harness``."""
    from .harness import Harness

    harnesses: list[Harness] = []

    def make(*plugins: Any, **options: Any) -> Harness:
        options.setdefault("home", tmp_path / f"home{len(harnesses)}")
        options.setdefault("clock", clock)
        harnesses.append(Harness(*plugins, **options))
        return harnesses[-1]

    yield make
    for created in harnesses:
        created.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of every runtime in the test: ``clock.ahead(3600)``; see ``Clock``."""
    from .clock import Clock

    clock = Clock()
    monkeypatch.setattr("hookline.clock.now", clock.now)
    return clock


@pytest.fixture
def store_url(request: pytest.FixtureRequest) -> str:
    """The store to open: ``--hookline-store``. A conftest may override this fixture."""
    return str(request.config.getoption("--hookline-store"))


@pytest.fixture
def store_home(tmp_path: Path) -> Path:
    """The home of the fixture ``store``; created when the store is opened."""
    return tmp_path / "home"


@pytest.fixture
async def store(store_home: Path, store_url: str) -> AsyncIterator[Any]:
    """A real store, open in ``store_home``, for tests that are coroutines.

    Needs pytest-asyncio in auto mode. Without it, use ``async with open_store(home) as store``.
    """
    from .store import open_store

    async with open_store(store_home, store_url) as opened:
        yield opened
