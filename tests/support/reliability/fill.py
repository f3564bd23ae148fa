"""A store as large as after years, made by SQL in the format that core uses.

One real turn is the pattern: its rows are read from the store and written again with other ids,
other chats and other words. So a column that core adds is copied along.
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

TURNS = 20
"""Turns in a session."""
WORDS = 300
"""Words in a message; some 2 KB."""
TABLES = ("inbox", "turns", "messages", "usage", "outbox")


def fill(database: Path, size: int, seed: random.Random) -> int:
    """Make the store ``size`` bytes large from the one turn it holds; the number of sessions.

    They are chats ``old0``, ``old1`` … of the webhook, each with :data:`TURNS` turns, used today.
    """
    with closing(sqlite3.connect(database)) as db:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA synchronous = OFF")
        session = dict(db.execute("SELECT * FROM sessions").fetchone())
        pattern = {table: list(map(dict, db.execute(f"SELECT * FROM {table}"))) for table in TABLES}
        number = 0
        while database.stat().st_size < size:
            with db:
                for _ in range(50):
                    _session(db, session, pattern, number, seed)
                    number += 1
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return number


def _session(
    db: sqlite3.Connection,
    session: dict[str, Any],
    pattern: dict[str, list[dict[str, Any]]],
    number: int,
    seed: random.Random,
) -> None:
    id_, chat = f"20260101-{number:08x}", f"old{number}"
    _insert(db, "sessions", [{**session, "id": id_, "chat_id": chat, "turns": TURNS}])
    for table in TABLES:
        rows = [row for turn in range(TURNS) for row in _turn(pattern[table], turn, seed)]
        for row in rows:
            row.update({name: value for name, value in _place(id_, chat).items() if name in row})
        _insert(db, table, rows)


def _place(session: str, chat: str) -> dict[str, str]:
    return {"session_id": session, "chat_id": chat}


def _turn(rows: list[dict[str, Any]], turn: int, seed: random.Random) -> Iterator[dict[str, Any]]:
    """The pattern's rows of one table as those of another turn."""
    for row in rows:
        made = dict(row)
        key = f"{seed.getrandbits(64):016x}"
        for name in ("id", "message_id"):
            if name in made:
                made[name] = key
        if "number" in made:
            made["number"] = turn + 1
        if "seq" in made:
            made["seq"] = made["seq"] + turn * len(rows)
        if "text" in made:
            made["text"] = words(seed)
            body = json.loads(made["body"])
            body["blocks"][0]["text"] = made["text"]
            made["body"] = json.dumps(body, separators=(",", ":"))
        yield made


def words(seed: random.Random) -> str:
    """A long text of words that hardly repeat."""
    return " ".join(f"{seed.getrandbits(28):x}" for _ in range(WORDS))


def add_backlog(database: Path, ids: list[str], chats: list[str]) -> None:
    """Messages that were acknowledged by a gateway that then died: one for each chat."""
    with closing(sqlite3.connect(database)) as db, db:
        db.row_factory = sqlite3.Row
        row = dict(db.execute("SELECT * FROM inbox LIMIT 1").fetchone())
        body = json.loads(row["body"])
        for id_, chat in zip(ids, chats, strict=True):
            told = {"message_id": id_, "chat_id": chat, "user_id": chat, "text": f"[{id_}] hello"}
            made = {**row, "id": f"inbox-{id_}", "message_id": id_, "chat_id": chat}
            made |= {"state": "new", "session_id": None, "received": time.time()}
            made["body"] = json.dumps({**body, **told, "received": made["received"]})
            _insert(db, "inbox", [made])


def _insert(db: sqlite3.Connection, table: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        names = ", ".join(rows[0])
        holes = ", ".join(f":{name}" for name in rows[0])
        db.executemany(f"INSERT INTO {table} ({names}) VALUES ({holes})", rows)
