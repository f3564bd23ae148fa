"""``db_write`` with the guards of the standard set: it asks once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
from hookline_databases import Databases
from hookline_permissions import Permissions
from hookline_provenance import Provenance

DELETE = "DELETE FROM orders WHERE id < 3"


@pytest.mark.parametrize(("answer", "left"), [("Allow once", 1), ("Deny", 3)])
def test_db_write_asks_once_and_runs_if_approved(
    harness: Callable[..., Harness], tmp_path: Path, answer: str, left: int
) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as made:
        made.executescript("CREATE TABLE orders (id INTEGER PRIMARY KEY);"
                           "INSERT INTO orders VALUES (1), (2), (3)")  # fmt: skip
    shop = {"url": f"sqlite:///{file}", "mode": "write"}
    config = {"databases": {"connections": {"shop": shop}}}
    h = harness(Provenance, Permissions, Databases, config=config, answers=[answer])
    h.model.steps += [calls("db_write", db="shop", sql=DELETE), "Well."]
    [result] = h.send("Delete the first two orders").tool_calls
    assert [one.text for one in h.questions] == [
        "Allow db_write? It changes 2 rows of orders in shop."
    ]
    assert result.ok == (answer == "Allow once"), result.text
    with closing(sqlite3.connect(file)) as looked:
        assert looked.execute("SELECT count(*) FROM orders").fetchone() == (left,)
