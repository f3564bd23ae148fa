"""The audit rows of a turn."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_audit import AuditPlugin
from hookline_hookspecs import Plugin, ToolCall, hookimpl

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


class Changes(Plugin):
    """Runs each addition with other numbers than the model asked for."""

    @hookimpl
    def around_tool(self, ctx: Any, call: ToolCall) -> Any:
        async def change(call: ToolCall, call_next: Any) -> Any:
            return await call_next(replace(call, arguments={"left": 4, "right": 4}))

        return change


def test_row_has_the_arguments_that_the_tool_ran_with(home: Home) -> None:
    model = [calls("add", left=1, right=2), "done"]
    with closing(Harness(AuditPlugin, Works, Changes, home=home.path, model=model)) as h:
        h.send("add")
        assert "8" in str(h.model.last.messages[-1].blocks)
    [row] = home.rows("--kind tool")
    encoded = json.dumps({"left": 4, "right": 4}, separators=(",", ":"), sort_keys=True).encode()
    assert row["detail"]["arguments"]["sha256"] == hashlib.sha256(encoded).hexdigest()


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


def test_answer_in_another_process_names_who_gave_it(home: Home) -> None:
    access = {"admins": ["fake:boss"], "allow": ["fake:*"]}
    plugins = (AuditPlugin, Works, installed("access"), installed("approvals"))
    options: Any = {"home": home.path, "config": {"access": access}}
    with closing(Harness(*plugins, model=["hi", calls("launch", what="it")], **options)) as h:
        h.run(h.channel.say("hello", chat="boss", user="boss"))
        h.run(h.channel.replies(1))
        h.run(h.channel.say("launch it", chat="ann", user="ann"))
        asked = h.run(h.channel.replies(3))
    question = next(reply.question for reply in asked if reply.choices)
    with closing(Harness(*plugins, model=["done"], **options)) as h:
        answer = f"/questions answer {question} 1"
        h.run(h.channel.say(answer, chat="boss", user="boss", message_id="second process"))
        h.run(h.channel.replies(1))
    [row] = home.rows("--kind answer")
    assert (row["object"], row["verdict"]) == ("launch", "approved")
    assert (row["approver"], row["actor"], row["chat"]) == ("fake:boss", "fake:ann", "fake:ann")
    assert row["turn"] == home.rows("--kind ask")[0]["turn"]
    assert row["detail"]["question"] == question


def installed(name: str) -> type[Plugin[Any]]:
    """A plugin beside this one. Skips where it is not installed."""
    found = entry_points(group="hookline.plugins", name=name)
    if not found:
        pytest.skip(f"hookline-{name} is not installed")
    plugin: type[Plugin[Any]] = next(iter(found)).load()
    return plugin


def test_personal_data_is_encrypted_in_the_database(worked: Home) -> None:
    stored: Any = worked.sql("SELECT body FROM audit_rows")
    plain = " ".join(row["body"] for row in stored)
    assert len(stored) == len(worked.rows())
    assert "tester" not in plain
    assert "SELECT 1" not in plain
