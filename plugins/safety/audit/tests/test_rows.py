"""The audit rows of a turn."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_audit import AuditPlugin

from .conftest import Home, Works

SECRET = "the code is swordfish"


def told(home: Home, kind: str) -> list[tuple[str, str]]:
    return [(row["object"], row["verdict"]) for row in home.rows() if row["kind"] == kind]


def test_turn_has_a_row_per_action_and_no_chat_text(home: Home) -> None:
    asked = {"left": 1, "right": 2}
    model = [calls("add", **asked), f"I know that {SECRET}"]
    with closing(Harness(AuditPlugin, Works, home=home.path, model=model)) as h:
        h.send(f"Remember, {SECRET}.")
    rows = home.rows()
    assert [row["kind"] for row in rows] == ["message", "model", "tool", "model"]
    assert {row["actor"] for row in rows} == {"terminal:tester"}
    assert {row["chat"] for row in rows} == {"terminal:default"}
    assert len({row["turn"] for row in rows}) == 1
    assert rows[0]["turn"]
    encoded = json.dumps(asked, separators=(",", ":"), sort_keys=True).encode()
    digest = {"sha256": hashlib.sha256(encoded).hexdigest(), "length": len(encoded)}
    assert rows[2]["detail"]["arguments"] == digest
    assert {"input", "output", "cost"} <= set(rows[1]["detail"])
    assert "swordfish" not in json.dumps(rows)


@pytest.mark.slow
def test_sql_is_recorded_literally_with_its_turn(worked: Home) -> None:
    [row] = worked.rows("--kind sql")
    [tool] = [one for one in worked.rows("--kind tool") if one["object"] == "query"]
    assert (row["object"], row["detail"]) == ("prod", {"sql": "SELECT 1"})
    assert (row["turn"], row["session"], row["actor"]) == (tool["turn"], "test", "terminal:tester")


@pytest.mark.slow
def test_questions_answers_and_refusals_have_rows(home: Home) -> None:
    model = [
        calls("launch", what="it"),
        calls("launch", what="again"),
        calls("add", left=13, right=1),
        "done",
    ]
    plugins = (AuditPlugin, Works)
    with closing(
        Harness(*plugins, home=home.path, model=model, answers=["Allow once", "Deny"])
    ) as h:
        h.send("go")
    assert told(home, "ask") == [("launch", "asked")] * 2
    assert told(home, "answer") == [("launch", "approved"), ("launch", "denied")]
    assert told(home, "tool") == [("launch", "ran"), ("launch", "denied"), ("add", "denied")]
    [refused] = [row for row in home.rows("--kind tool") if row["object"] == "add"]
    assert refused["detail"]["by"] == "works"
    assert {row["approver"] for row in home.rows("--kind answer")} == {"terminal:tester"}


def test_personal_data_is_encrypted_in_the_database(worked: Home) -> None:
    stored: Any = worked.sql("SELECT body FROM audit_rows")
    plain = " ".join(row["body"] for row in stored)
    assert len(stored) == len(worked.rows())
    assert "tester" not in plain
    assert "SELECT 1" not in plain
