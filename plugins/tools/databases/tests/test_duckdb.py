"""DuckDB through the tools: hostile statements change nothing, ordinary queries are allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from .conftest import SHOP, DatabaseChat, fingerprint, statements
from .suite import assert_all_answered, assert_nothing_changes

MakeDatabaseChat = Callable[..., DatabaseChat]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A DuckDB database with a small shop, in a folder of its own."""
    folder = tmp_path / "data"
    folder.mkdir()
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(SHOP)
        connection.execute("CREATE SEQUENCE evil_numbers; CREATE MACRO twice(x) AS 2 * x")
    return folder / "shop.duckdb"


def test_schema_has_one_line_per_table(make_chat: MakeDatabaseChat, store: Path) -> None:
    lines = make_chat(f"duckdb:///{store}").ask("db_schema", db="shop").text.splitlines()
    assert any(line.startswith("orders(id INTEGER PK, customer_id INTEGER FK") for line in lines)
    assert "revenue [view](order_id INTEGER, total DECIMAL(38,2))" in lines


@pytest.mark.slow
def test_hostile_statements_change_nothing(make_chat: MakeDatabaseChat, store: Path) -> None:
    asked = make_chat(f"duckdb:///{store}")
    hostile = statements("hostile_every", "hostile_quotes", "hostile_duckdb")
    assert_nothing_changes(asked, hostile, lambda: fingerprint(store.parent))
    assert "| 5 |" in asked.query("SELECT count(*) FROM customers")
    before = fingerprint(store.parent)
    for riddle in statements("riddles"):
        asked.query(riddle)
        assert fingerprint(store.parent) == before, riddle


@pytest.mark.slow
def test_ordinary_queries_are_allowed(make_chat: MakeDatabaseChat, store: Path) -> None:
    before = fingerprint(store.parent)
    asked = make_chat(f"duckdb:///{store}")
    assert_all_answered(asked, statements("ordinary_every", "ordinary_duckdb"))
    assert fingerprint(store.parent) == before
