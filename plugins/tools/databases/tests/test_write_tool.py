"""``db_write``: a trial run, the approval, and the write as it was approved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hookline_hookspecs import Context, NoConfig, Plugin, Question, hookimpl
from support.mariadb import Server

from .conftest import SHOP, DatabaseChat, made_sqlite
from .servers import MariaShop, postgres_shop

MakeDatabaseChat = Callable[..., DatabaseChat]
UPDATE = "UPDATE orders SET status = 'lost' WHERE customer_id = 1"
LOST = "SELECT count(*) AS n FROM orders WHERE status = 'lost'"
REFUSED = [
    "GRANT ALL ON orders TO PUBLIC",
    "DROP DATABASE shop",
    "CREATE FUNCTION evil() RETURNS int RETURN 1",
    "CREATE TRIGGER evil AFTER INSERT ON orders FOR EACH ROW DELETE FROM orders",
    "COPY orders TO '/tmp/hookline-evil'",
    "ATTACH DATABASE '/tmp/hookline-evil' AS evil",
    "VACUUM",
    "SET ROLE NONE",
    "BEGIN",
    "COMMIT",
    "PRAGMA writable_schema = ON",
    "CALL wiped()",
    "SELECT 1",
    "SELECT * INTO evil FROM orders",
    "DELETE FROM orders; DELETE FROM customers",
    "DELETE FROM orders; COMMIT",
    "WITH x AS (DELETE FROM customers RETURNING *) DELETE FROM orders",
    "INSERT INTO orders SELECT * FROM orders INTO OUTFILE '/tmp/hookline-evil'",
    "UPDATE orders SET note = load_file('/etc/passwd')",
    "UPDATE orders SET note = pg_read_file('/etc/passwd')",
    "UPDATE orders SET note = sleep(60)",
    "DELETE FROM orders /*! WHERE 1 = 0 */",
    "DO 1",
    "EXPLAIN ANALYZE DELETE FROM orders",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE orders",
]


@pytest.fixture(params=["sqlite", "duckdb", "postgres", "mysql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The shop on each engine, with a login that may write to it."""
    if request.param == "sqlite":
        yield f"sqlite:///{made_sqlite(tmp_path / 'shop.db')}"
    elif request.param == "duckdb":
        with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
            # DuckDB does not update a row that others refer to
            connection.execute(SHOP.replace("REFERENCES orders(id)", ""))
        yield f"duckdb:///{tmp_path / 'shop.duckdb'}"
    elif request.param == "postgres":
        with postgres_shop(request.getfixturevalue("postgres_server")) as made:
            yield made.url(made.owner)
    else:
        with closing(MariaShop(request.getfixturevalue("maria_server"), "till")) as shop:
            yield shop.url(shop.owner)


def lost(asked: DatabaseChat) -> str:
    """How many orders have the status that the tests give."""
    return asked.query(LOST).splitlines()[2]


@pytest.mark.slow
def test_write_runs_as_approved(make_chat: MakeDatabaseChat, url: str) -> None:
    asked = make_chat(url, mode="write", answers=["Deny", "Allow once"])
    assert asked.ask("db_write", db="shop", sql=UPDATE).text.startswith("Denied: ")
    assert lost(asked) == "| 0 |"
    result = asked.ask("db_write", db="shop", sql=UPDATE)
    assert result.text.startswith("UPDATE of orders in shop is done: 2 rows changed.")
    assert lost(asked) == "| 2 |"
    question = asked.h.questions[1]
    assert question.preview.startswith(UPDATE)
    assert "2 rows of orders in shop" in question.preview
    assert "call first" in question.preview
    assert question.choices == ("Allow once", "Deny")


@pytest.mark.long
def test_approval_covers_one_write(make_chat: MakeDatabaseChat, url: str) -> None:
    asked = make_chat(url, mode="write", answers=["Allow once", "Deny"])
    insert = "INSERT INTO customers VALUES (9, 'Zoe', 'Rome', 'IT', '2025-01-01')"
    assert "1 row changed" in asked.ask("db_write", db="shop", sql=insert).text
    delete = "DELETE FROM customers WHERE id = 9"
    assert asked.ask("db_write", db="shop", sql=delete).text.startswith("Denied: ")
    assert len(asked.h.questions) == 2


@pytest.mark.long
def test_write_is_denied_without_a_person(make_chat: MakeDatabaseChat, url: str) -> None:
    asked = make_chat(url, mode="write")
    assert asked.ask("db_write", db="shop", sql=UPDATE).text.startswith("Denied: ")
    assert lost(asked) == "| 0 |"


def test_read_only_connection_does_not_write(make_chat: MakeDatabaseChat, url: str) -> None:
    asked = make_chat(url, answers=["Allow once"])
    text = asked.ask("db_write", db="shop", sql=UPDATE).text
    assert text.startswith("Denied: ")
    assert "mode: write" in text
    assert not asked.h.questions


@pytest.mark.slow
def test_only_plain_writes_can_be_approved(make_chat: MakeDatabaseChat, url: str) -> None:
    asked = make_chat(url, mode="write", answers=["Allow once"])
    for sql in REFUSED:
        text = asked.ask("db_write", db="shop", sql=sql).text
        assert text.startswith(("Denied: ", "Error: ")), sql
        assert not asked.h.questions, sql
    assert "| 5 |" in asked.query("SELECT count(*) FROM orders")


class Meddler(Plugin[NoConfig]):
    """Changes the database before it approves."""

    meddle: Callable[[], Any] = staticmethod(lambda: None)

    @hookimpl
    def on_question(self, ctx: Context, question: Question) -> str:
        """Say yes, too late."""
        type(self).meddle()
        return "Allow once"


def test_write_is_rolled_back_if_its_row_count_changed(
    make_chat: MakeDatabaseChat, tmp_path: Path
) -> None:
    import sqlite3

    file = made_sqlite(tmp_path / "shop.db")

    def meddle() -> None:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("UPDATE orders SET customer_id = 1 WHERE id = 3")
            connection.commit()

    Meddler.meddle = staticmethod(meddle)
    asked = make_chat(f"sqlite:///{file}", Meddler, mode="write")
    text = asked.ask("db_write", db="shop", sql=UPDATE).text
    assert text.startswith("Error: it would now change 3 rows, not the 2 that were approved")
    assert lost(asked) == "| 0 |"
    assert "3 rows changed" in asked.ask("db_write", db="shop", sql=UPDATE).text


@pytest.mark.slow
def test_last_write_is_undone_from_its_recorded_rows(make_chat: MakeDatabaseChat, url: str) -> None:
    asked = make_chat(url, mode="write", answers=["Allow once", "Allow once", "Allow once"])
    before = asked.query("SELECT * FROM orders ORDER BY id").rpartition("(")[0]
    asked.ask("db_write", db="shop", sql=UPDATE)
    assert asked.h.cli("db undo shop").exit_code == 2
    assert lost(asked) == "| 2 |"
    done = asked.h.cli("db undo shop --yes")
    assert "Restored 2 rows of orders." in done.stdout, done
    assert asked.query("SELECT * FROM orders ORDER BY id").rpartition("(")[0] == before
    assert "no write to shop that can be undone" in asked.h.cli("db undo shop --yes").stderr

    before = asked.query("SELECT * FROM order_items ORDER BY 1, 2").rpartition("(")[0]
    delete = "DELETE FROM order_items AS i WHERE i.quantity > 5"
    if url.startswith("mysql"):
        delete = "DELETE FROM order_items WHERE quantity > 5"
    assert "2 rows changed" in asked.ask("db_write", db="shop", sql=delete).text
    assert "2 rows of order_items" in asked.h.cli("db undo shop --yes").stdout
    assert asked.query("SELECT * FROM order_items ORDER BY 1, 2").rpartition("(")[0] == before

    insert = "INSERT INTO customers VALUES (9, 'Zoe', 'Rome', 'IT', '2025-01-01')"
    asked.ask("db_write", db="shop", sql=insert)
    assert "it was a INSERT" not in (text := asked.h.cli("db undo shop --yes").stderr)
    assert "only an UPDATE or DELETE can be undone" in text


@pytest.mark.long
def test_schema_change_is_tried_if_it_can_be_rolled_back(
    make_chat: MakeDatabaseChat, url: str
) -> None:
    asked = make_chat(url, mode="write", answers=["Deny", "Allow once"])
    sql = "CREATE TABLE parcels (id INTEGER)"
    asked.ask("db_write", db="shop", sql=sql)
    question = asked.h.questions[0]
    assert "changes the structure" in question.text
    assert ("cannot undo this" in question.text) == url.startswith("mysql")
    assert asked.query("SELECT count(*) FROM parcels").startswith("Error: ")
    assert "is done" in asked.ask("db_write", db="shop", sql=sql).text
    assert "| 0 |" in asked.query("SELECT count(*) FROM parcels")


@pytest.mark.slow
def test_approval_names_a_table_without_transactions(
    make_chat: MakeDatabaseChat, maria_server: Server
) -> None:
    with closing(MariaShop(maria_server, "till")) as shop:
        asked = make_chat(shop.url(shop.owner), mode="write", answers=["Deny", "Allow once"])
        sql = "DELETE FROM events WHERE kind = 'view'"
        asked.ask("db_write", db="shop", sql=sql)
        assert "nothing undoes it" in asked.h.questions[0].text
        assert shop.rows("SELECT COUNT(*) FROM events") == [(2,)]
        assert "1 row changed" in asked.ask("db_write", db="shop", sql=sql).text
        assert shop.rows("SELECT COUNT(*) FROM events") == [(1,)]


@pytest.mark.long
def test_failing_write_is_an_error_and_a_hidden_character_is_spelled_out(
    make_chat: MakeDatabaseChat, url: str
) -> None:
    asked = make_chat(url, mode="write", answers=["Allow once"])
    text = asked.ask("db_write", db="shop", sql="UPDATE nothing_here SET a = 1").text
    if "took longer" not in text:  # on a busy machine
        assert text.startswith("Error: nothing was changed: ")
    shown = asked.ask("db_query", db="shop", sql="SELECT 'a\u202eb\u200bc' AS x").text
    assert "a\\u202eb" in shown
