"""``pytest -p support.on_postgres``: every home of a run keeps its data in PostgreSQL, not SQLite.

One server for the run; each home has a schema of its own. What a test starts finds it by the
environment. Tests that open the SQLite file themselves, and those marked ``sqlite``, are skipped.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Any

import pytest
from hookline_postgres.testing.plugin import server_url

NAME = "HOOKLINE_TEST_STORE"


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start the server, unless another process of the run has."""
    if NAME not in os.environ:
        url = server_url()
        joined = "&" if "?" in url else "?"
        os.environ["HOOKLINE_STORE"] = os.environ[NAME] = f"{url}{joined}schema=per-home"
    # A test that leaves a runtime open, as a kill does, leaves its connections open.
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")
    config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")
    sqlite3.connect = _connect  # type: ignore[assignment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that are about SQLite."""
    for item in items:
        if item.get_closest_marker("sqlite"):
            item.add_marker(pytest.mark.skip(reason="is about SQLite"))


_real = sqlite3.connect


def _connect(database: Any, *rest: Any, **options: Any) -> Any:
    """``sqlite3.connect``; a test that looks into the file is about SQLite."""
    if "hookline.db" in str(database):
        pytest.skip("opens the SQLite file")
    return _real(database, *rest, **options)
