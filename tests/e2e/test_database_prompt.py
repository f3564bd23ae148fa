"""The question before a write to a database, on a terminal of 80 columns."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.machine import Machine
from support.terminal import TerminalScreen

SQL = (
    "UPDATE orders SET status = 'returned', note = 'customer sent all of it back on Monday' "
    "WHERE id IN (SELECT id FROM orders WHERE customer = 'Ada' AND status <> 'returned' "
    "ORDER BY id LIMIT 40) AND total > 0"
)


@pytest.mark.slow
@pytest.mark.parametrize("wide", [0, 30])
def test_db_write_question_shows_statement_row_count_and_database(
    machine: Machine, tmp_path: Path, wide: int
) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer, status, note, total)")
        rows = [(n, "Ada", "open", f"note {n}", n) for n in range(1, 31)]
        db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", rows)
        for n in range(wide):
            db.execute(f"ALTER TABLE orders ADD column_{n} DEFAULT '{'many words ' * 30}'")
        db.commit()
    shop = {"url": f"sqlite:///{file}", "mode": "write"}
    machine.config(json.dumps({"plugins": {"databases": {"connections": {"shop": shop}}}}))
    call = {"name": "db_write", "arguments": {"db": "shop", "sql": SQL}}
    model = machine.script(
        {"when": "back", "tools": [call]}, {"when": "30 rows changed", "text": "All of it is back."}
    )
    env = {**machine.environment(), "TERM": "xterm-256color"}
    words = [sys.executable, "-m", "hookline", "run", "--model", model, "Ada sent all back."]
    with TerminalScreen(words, env=env, cwd=machine.workspace, rows=24) as screen:
        screen.wait_for("Deny")
        shown = without_whitespace(screen.text)
        assert without_whitespace(SQL) in shown, screen.text
        assert without_whitespace("in shop: it changes 30 rows of orders") in shown
        assert "of 30 rows)" in screen.text
        assert "note 1 " in screen.text
        screen.type("1\r")
        screen.wait_for("All of it is back.")
    with closing(sqlite3.connect(file)) as db:
        (count,) = db.execute("SELECT count(*) FROM orders WHERE status = 'returned'").fetchone()
    assert count == 30


def without_whitespace(text: str) -> str:
    """Text without whitespace and frames, which depend on the terminal's width."""
    return re.sub(r"[\s│┃|]+", "", text)
