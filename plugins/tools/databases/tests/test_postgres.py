"""PostgreSQL through the tools: hostile statements change nothing, ordinary queries are allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .conftest import DatabaseChat, statements
from .servers import PostgresShop, postgres_shop
from .suite import assert_all_answered, assert_nothing_changes

MakeDatabaseChat = Callable[..., DatabaseChat]


@pytest.fixture(scope="module")
def store(postgres_server: str) -> Iterator[PostgresShop]:
    with postgres_shop(postgres_server) as shop:
        yield shop


PART = 23
"""Of so many statements the quick tests ask one."""


@pytest.mark.slow
def test_sample_of_the_suites(make_chat: MakeDatabaseChat, store: PostgresShop) -> None:
    asked = make_chat(store.url(store.owner), plugin={"timeout_seconds": 2})
    hostile = statements("hostile_postgres", "hostile_every")[::PART]
    assert_nothing_changes(asked, [*hostile, "SELECT c.gone FROM customers c"], store.state)
    assert_all_answered(asked, statements("ordinary_every", "ordinary_postgres")[::PART])
    assert "superuser" in make_chat(store.url()).query("SELECT 1")


def test_schema_has_one_line_per_table(make_chat: MakeDatabaseChat, store: PostgresShop) -> None:
    asked = make_chat(store.url(store.reader))
    lines = asked.ask("db_schema", db="shop").text.splitlines()
    assert "spend [materialized view](customer_id integer, orders bigint)" in lines
    assert any(
        line.startswith("orders(id integer PK, customer_id integer NOT NULL -> customers")
        for line in lines
    )


def test_expensive_query_needs_approval(make_chat: MakeDatabaseChat, store: PostgresShop) -> None:
    sql = "SELECT count(*) FROM orders a, orders b, orders c, orders d"
    asked = make_chat(
        store.url(store.reader), plugin={"max_cost": 50}, answers=["Deny", "Allow once"]
    )
    assert asked.query("SELECT 1").startswith("| ?column? |")
    assert not asked.h.questions
    assert asked.query(sql).startswith("Denied: ")
    assert asked.query(sql).startswith("| count |")
    assert [one.preview for one in asked.h.questions] == [sql, sql]
    assert "more than 50" in asked.h.questions[0].text


def test_expensive_query_is_denied_without_a_person(
    make_chat: MakeDatabaseChat, store: PostgresShop
) -> None:
    asked = make_chat(store.url(store.reader), plugin={"max_cost": 50})
    text = asked.query("SELECT count(*) FROM orders a, orders b, orders c, orders d")
    assert text.startswith("Denied: ")


@pytest.mark.slow
def test_slow_or_large_queries_are_stopped(
    make_chat: MakeDatabaseChat, store: PostgresShop
) -> None:
    asked = make_chat(store.url(store.reader), plugin={"timeout_seconds": 0.5, "max_rows": 3})
    assert "longer than 0.5 s" in asked.query(
        "SELECT count(*) FROM generate_series(1, 3000) a, generate_series(1, 30000) b"
    )
    assert "more than 3 rows" in asked.query("SELECT * FROM products")
    assert asked.query("SELECT id FROM products WHERE id > 99").startswith(
        "| id |\n| --- |\n(0 rows"
    )


@pytest.mark.slow
def test_giant_row_stops_the_query(make_chat: MakeDatabaseChat, store: PostgresShop) -> None:
    asked = make_chat(store.url(store.reader))
    text = asked.query("SELECT repeat('x', id * 200000000) FROM products WHERE id = 1")
    assert "row of the result is too large" in text


@pytest.mark.slow
def test_lock_wait_is_limited(make_chat: MakeDatabaseChat, store: PostgresShop) -> None:
    asked = make_chat(store.url(store.reader), plugin={"lock_seconds": 0.3})
    with store.root.transaction():
        store.root.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        assert "holds a lock" in asked.query("SELECT * FROM orders")
    assert asked.query("SELECT count(*) FROM orders").startswith("| count |")


@pytest.mark.slow
@pytest.mark.parametrize("login", ["reader", "owner"])
def test_hostile_statements_change_nothing(
    make_chat: MakeDatabaseChat, store: PostgresShop, login: str
) -> None:
    asked = make_chat(store.url(getattr(store, login)), plugin={"timeout_seconds": 2})
    assert_nothing_changes(
        asked, statements("hostile_every", "hostile_quotes", "hostile_postgres"), store.state
    )
    assert "| 5 |" in asked.query("SELECT count(*) FROM customers")
    before = store.state()
    for riddle in statements("riddles"):
        asked.query(riddle)
        assert store.state() == before, riddle


@pytest.mark.slow
def test_superuser_login_is_always_refused(
    make_chat: MakeDatabaseChat, store: PostgresShop
) -> None:
    asked = make_chat(store.url(), plugin={"timeout_seconds": 2})
    found = assert_nothing_changes(
        asked, statements("hostile_every", "hostile_quotes", "hostile_postgres"), store.state
    )
    assert any("superuser" in text for text in found.values())
    assert "superuser" in asked.query("SELECT 1")


@pytest.mark.slow
def test_ordinary_queries_are_allowed(make_chat: MakeDatabaseChat, store: PostgresShop) -> None:
    before = store.state()
    asked = make_chat(store.url(store.reader))
    assert_all_answered(asked, statements("ordinary_every", "ordinary_postgres"))
    assert store.state() == before
