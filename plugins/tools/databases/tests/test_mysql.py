"""MariaDB through the tools: hostile statements change nothing, ordinary queries are allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.mariadb import Server

from .conftest import DatabaseChat, statements
from .servers import MariaShop
from .suite import assert_all_answered, assert_nothing_changes

MakeDatabaseChat = Callable[..., DatabaseChat]
PART = 23
"""Of so many statements the quick tests ask one."""


@pytest.fixture(scope="module")
def store(maria_server: Server) -> Iterator[MariaShop]:
    shop = MariaShop(maria_server)
    yield shop
    shop.close()


@pytest.mark.slow
def test_sample_of_the_suites(make_chat: MakeDatabaseChat, store: MariaShop) -> None:
    asked = make_chat(store.url(store.owner), plugin={"timeout_seconds": 2})
    hostile = statements("hostile_mysql", "hostile_every")[::PART]
    assert_nothing_changes(asked, [*hostile, "SELECT liar()"], store.state)
    assert_all_answered(asked, statements("ordinary_every", "ordinary_mysql")[::PART])
    text = make_chat(store.url()).query("SELECT 1")
    assert text.startswith("Denied: this login is too powerful: it has ALL PRIVILEGES")


@pytest.mark.slow
def test_schema_has_one_line_per_table(make_chat: MakeDatabaseChat, store: MariaShop) -> None:
    lines = make_chat(store.url(store.reader)).ask("db_schema", db="shop").text.splitlines()
    assert any(line.startswith("orders(id int(11) PK, customer_id int(11) NOT") for line in lines)


@pytest.mark.slow
def test_expensive_query_needs_approval(make_chat: MakeDatabaseChat, store: MariaShop) -> None:
    sql = "SELECT count(*) FROM orders a, orders b, orders c, orders d"
    asked = make_chat(
        store.url(store.reader), plugin={"max_cost": 50}, answers=["Deny", "Allow once"]
    )
    assert asked.query(sql).startswith("Denied: ")
    assert asked.query(sql).startswith("| count(*) |\n| --- |\n| 625 |")
    assert [one.preview for one in asked.h.questions] == [sql, sql]


@pytest.mark.long
def test_slow_or_large_queries_are_stopped(make_chat: MakeDatabaseChat, store: MariaShop) -> None:
    asked = make_chat(store.url(store.reader), plugin={"timeout_seconds": 0.5, "max_rows": 3})
    assert "longer than 0.5 s" in asked.query(
        "SELECT count(*) FROM seq_1_to_9000000 WHERE sha2(seq, 512) LIKE 'x'"
    )
    assert "more than 3 rows" in asked.query("SELECT * FROM seq_1_to_1000000")
    assert asked.query("SELECT id FROM products WHERE id > 99").startswith("| id |\n| --- |\n(0")


@pytest.mark.slow
@pytest.mark.parametrize("login", ["reader", "owner", "root"])
def test_hostile_statements_change_nothing(
    make_chat: MakeDatabaseChat, store: MariaShop, login: str
) -> None:
    asked = make_chat(store.url(login), plugin={"timeout_seconds": 2})
    hostile = statements("hostile_every", "hostile_mysql")
    assert_nothing_changes(asked, hostile, store.state)
    if login == "root":
        return
    assert "| 5 |" in asked.query("SELECT count(*) FROM customers")
    before = store.state()
    for riddle in statements("riddles"):
        asked.query(riddle)
        assert store.state() == before, riddle


@pytest.mark.slow
def test_ordinary_queries_are_allowed(make_chat: MakeDatabaseChat, store: MariaShop) -> None:
    before = store.state()
    asked = make_chat(store.url(store.reader))
    assert_all_answered(asked, statements("ordinary_every", "ordinary_mysql"))
    assert store.state() == before
