"""SQLite through the tools: hostile statements change nothing, ordinary queries are allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import DatabaseChat, fingerprint, statements
from .suite import assert_all_answered, assert_nothing_changes

MakeDatabaseChat = Callable[..., DatabaseChat]


@pytest.mark.slow
def test_hostile_statements_change_nothing(make_chat: MakeDatabaseChat, shop: Path) -> None:
    asked = make_chat(f"sqlite:///{shop}")
    assert_nothing_changes(
        asked, statements("hostile_every", "hostile_quotes"), lambda: fingerprint(shop.parent)
    )
    assert "| 5 |" in asked.query("SELECT count(*) FROM customers")


@pytest.mark.slow
def test_ordinary_queries_are_allowed(make_chat: MakeDatabaseChat, shop: Path) -> None:
    before = fingerprint(shop.parent)
    assert_all_answered(
        make_chat(f"sqlite:///{shop}"), statements("ordinary_every", "ordinary_sqlite")
    )
    assert fingerprint(shop.parent) == before
