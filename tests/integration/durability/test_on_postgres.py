"""Durability tests of SQLite, run on PostgreSQL.

``.ci/run`` runs many more so. A run of its own, since the store is chosen for a whole run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SMOKE = (
    "tests/unit/core/test_turn.py",
    "tests/integration/durability/test_two_runtimes.py",
    "plugins/learning/memory/tests/test_facts.py",
    "plugins/learning/session-search/tests/test_queries.py",
    "tests/unit/hookspecs/test_row_cache.py",
)


@pytest.mark.slow
@pytest.mark.usefixtures("postgres_server")
def test_postgres_store_passes_the_sqlite_tests() -> None:
    options = ["-p", "support.on_postgres", "-n0", "-q", "-m", "not slow", "--no-header"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", *SMOKE],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "[100%]" in done.stdout
