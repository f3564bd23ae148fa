"""The plugin where no machine shares the store; homes on one PostgreSQL are in ``tests/e2e``."""

from __future__ import annotations

from typing import Any

from hookline_shared_files import SharedFiles


def test_shared_files_on_sqlite_stores_nothing(harness: Any) -> None:
    h = harness(SharedFiles, model=["hi"])
    assert h.send("hello").text == "hi"
    assert not (h.home / "plugins" / "shared-files").exists()
