"""What every test of this repository runs with; a plugin's tests alone need none of it.

Loaded by pytest before any test, from the root of the repository.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108
"""Where Linux keeps files in memory."""
MIN_FREE_BYTES = 4 * 1024**3
"""Free bytes that ``MEMORY_FOLDER`` must have; a whole run needs a tenth of them at any time."""
TESTS_PER_COLLECTION = 500
"""After so many tests, what has stayed is left out of every later search for garbage."""

# How busy the machine is says nothing of the code, and a fixture is made once for all examples.
CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("base", deadline=None, suppress_health_check=CHECKS)
BASE = settings.get_profile("base")
# Two runs of the same code try the same examples. `--hypothesis-profile=full` searches for others.
settings.register_profile("quick", BASE, max_examples=20, derandomize=True, database=None)
settings.register_profile("full", BASE, max_examples=200, derandomize=False)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Set up the environment of the tests, and of all the processes that they start."""
    if _holds_programs(MEMORY_FOLDER):
        # A store flushes every commit to the disk, which is half of the time of most tests. What
        # has been flushed survives a loss of power, and no test can show that.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_FOLDER))
        tempfile.tempdir = str(MEMORY_FOLDER)
    # Every HTTP client reads all certificates of the system at once (25 ms), unless they are in a
    # folder, to be looked up by name; and the servers of the tests need none.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent / "tests" / "support")
    # What a program draws depends on its terminal; the tests' own understands this one.
    os.environ["TERM"] = "xterm-256color"
    # Where no bytecode is written, each process compiles everything that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if hasattr(config, "workerinput"):
        # The workers of xdist ignore Ctrl-C, and so would every process that they start.
        signal.signal(signal.SIGINT, lambda *_: None)


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
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark property tests, and the one test of each plugin's contract that starts a process."""
    for item in items:
        is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if is_property or item.name == "test_its_import_brings_no_heavy_module":
            item.add_marker(pytest.mark.long)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """Leave out what tests have imported since, too."""
    if next(_finished) % TESTS_PER_COLLECTION == 0:
        gc.collect()
        gc.freeze()


_finished = count(1)


def _holds_programs(folder: Path) -> bool:
    """True for a folder with room to spare, in which programs may be put and run."""
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free > MIN_FREE_BYTES
