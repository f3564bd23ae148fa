"""SQLite through the tools: nothing changes it, and no ordinary question is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import DatabaseChat, fingerprint, statements
from .suite import assert_all_answered, assert_nothing_changes

MakeDatabaseChat = Callable[..., DatabaseChat]


@pytest.mark.slow
def test_hostile_statements_change_nothing(desk: MakeDatabaseChat, shop: Path) -> None:
    asked = desk(f"sqlite:///{shop}")
    assert_nothing_changes(
        asked, statements("hostile_every", "hostile_quotes"), lambda: fingerprint(shop.parent)
    )
    assert "| 5 |" in asked.query("SELECT count(*) FROM customers")


@pytest.mark.slow
def test_ordinary_queries_are_allowed(desk: MakeDatabaseChat, shop: Path) -> None:
    before = fingerprint(shop.parent)
    assert_all_answered(desk(f"sqlite:///{shop}"), statements("ordinary_every", "ordinary_sqlite"))
    assert fingerprint(shop.parent) == before
