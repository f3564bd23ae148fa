"""A session of 10,000 messages opens at its end, and is read page by page."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from .browser import Gateway, Person, new

TURNS = 5_000
FILL = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :turns)
INSERT INTO messages (session_id, seq, turn_id, role, body, text, created)
SELECT m.session_id, m.seq + 2 * n.i, 't' || n.i, m.role, m.body, m.text, m.created + n.i
FROM n, messages m WHERE m.session_id = :id AND m.seq <= 2
"""


def test_session_of_10000_messages_is_read_from_its_end(play: Any, gateway: Gateway) -> None:
    async def story(owner: Person) -> None:
        session = new()
        await owner.say(session, "hello")
        await owner.settled(session)
        with closing(sqlite3.connect(gateway.home / "hookline.db", timeout=30)) as db, db:
            db.execute(FILL, {"turns": TURNS, "id": session})
        db.close()
        last = await owner.get(f"/sessions/{session}?tail=50")
        sequences = [one["seq"] for one in last["messages"]]
        assert sequences == list(range(2 * TURNS - 47, 2 * TURNS + 3))
        assert last["more"] is True
        before = await owner.get(f"/sessions/{session}?tail=1000&before={sequences[0]}")
        assert before["messages"][-1]["seq"] == sequences[0] - 1
        assert len(before["messages"]) == 1000
        first = await owner.get(f"/sessions/{session}?tail=50&before=21")
        assert [one["seq"] for one in first["messages"]] == list(range(1, 21))
        assert first["more"] is False

    play(story)
