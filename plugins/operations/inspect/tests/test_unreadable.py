"""An unreadable stored message is shown and exported as it is stored, in its place."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from hookline_inspect import Inspect

BROKEN = ["", "not JSON", "[]", "null", '{"role": "user"}', '{"role": 1, "blocks": [{}]}']


@pytest.mark.parametrize("body", BROKEN)
def test_unreadable_message_is_shown_and_exported(harness, body):
    h = harness(Inspect, model=["I see a tree.", "more"])
    h.send("look around")
    h.run(h.aclose())
    with closing(sqlite3.connect(h.home / "hookline.db")) as db, db:
        db.execute("UPDATE messages SET body = ? WHERE seq = 2", (body,))
    for command in ("sessions show test", "sessions show test --json", "sessions export test"):
        done = h.cli(command)
        assert done.exit_code == 0, done.stderr
        assert "look around" in done.stdout
        assert "I see a tree" not in done.stdout
    last = json.loads(h.cli("sessions export test").stdout.splitlines()[-1])
    assert last["role"] == "unreadable"
    assert last["blocks"][0]["stored"] == body
