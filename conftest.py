"""What every test of this repository runs with; a plugin's tests alone need none of it.

Loaded by pytest before any test, from the root of the repository.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")  # noqa: S108
"""Where Linux keeps files in memory."""
ROOM = 4 * 1024**3
"""Free bytes that ``MEMORY`` must have; a whole run needs a tenth of them at any time."""


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
    os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent / "tests" / "fakes")


def pytest_collection_finish() -> None:
    """Leave what was collected out of every later search for garbage: it stays to the end."""
    gc.collect()
    gc.freeze()


def _holds_programs(folder: Path) -> bool:
    """True for a folder with room to spare, in which programs may be put and run."""
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC and shutil.disk_usage(folder).free > ROOM
