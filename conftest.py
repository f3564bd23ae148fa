"""What every test of this repository runs with; a plugin's tests alone need none of it.

Loaded by pytest before any test, from the root of the repository.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from hookline.testing import fresh
from hypothesis import HealthCheck, is_hypothesis_test, settings
from support import nursery

MEMORY = Path("/dev/shm")  # noqa: S108
"""Where Linux keeps files in memory."""
ROOM = 4 * 1024**3
"""Free bytes that ``MEMORY`` must have; a whole run needs a tenth of them at any time."""

FEWEST, PART = 10, 5
"""How many examples of a property a quick run tries at least, and which part of all of them."""
VARIANTS = 6
"""How many variants of one parametrised test a quick run tries at most."""
TIDY = 500
"""After so many tests what has stayed is left out of every later search for garbage."""


def pytest_configure(config: pytest.Config) -> None:
    """Set up the environment of the tests, and of all the processes that they start."""
    if _holds_programs(MEMORY):
        # A store flushes every commit to the disk, which is half of the time of most tests. What
        # has been flushed survives a loss of power, and no test can show that.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
        tempfile.tempdir = str(MEMORY)
    # Every HTTP client reads all certificates of the system at once (25 ms), unless they are in a
    # folder, to be looked up by name; and the servers of the tests need none.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent / "tests" / "support")
    # Where no bytecode is written, each process compiles everything that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # Each contract looks at what an import brings, in an interpreter that begins with next to
    # nothing: a fork of one is as good, and starts at once.
    fresh.subprocess = SimpleNamespace(run=nursery.run_bare)  # type: ignore[attr-defined]
    # Each start of Hookline reads what is installed and its queries; most tests start it once.
    nursery.keep_entry_points()
    nursery.keep_queries()
    nursery.keep_tools()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Look for no garbage meanwhile: 19,000 tests are many objects, and they stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # they are left out of every later search
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Try some examples of each property and some variants of each matrix.

    ``-m slow`` runs all examples, and the other variants. Which variants a quick run takes depends
    on their order alone; they are spread evenly.
    """
    properties = {
        item: item.obj for item in items if is_hypothesis_test(getattr(item, "obj", None))
    }
    if config.option.markexpr == "slow":
        for item in properties:
            item.add_marker("slow")
    for test in {getattr(obj, "__func__", obj) for obj in properties.values()}:
        full = test._hypothesis_internal_use_settings
        most = full.max_examples
        if config.option.markexpr == "not slow":
            most = min(most, max(FEWEST, most // PART))
        # How quick a busy machine is says nothing of the code.
        calm = {*full.suppress_health_check, HealthCheck.too_slow}
        test._hypothesis_internal_use_settings = settings(
            full, max_examples=most, deadline=None, suppress_health_check=calm
        )
    matrices: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        matrices[item.nodeid.partition("[")[0]].append(item)
    for name, variants in matrices.items():
        if name.startswith("tests/meta/"):  # a rule that is tried on some dists holds for some
            continue
        step = -(-len(variants) // VARIANTS)
        for number, item in enumerate(variants):
            if number % step:
                item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """Leave out what tests have imported since, too."""
    if next(_finished) % TIDY == 0:
        gc.collect()
        gc.freeze()


_finished = count(1)


def _holds_programs(folder: Path) -> bool:
    """True for a folder with room to spare, in which programs may be put and run."""
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC and shutil.disk_usage(folder).free > ROOM
