"""``hookline sessions``: list, show, search, export and delete."""

from __future__ import annotations

import json

import pytest
from support.machine import Machine, is_sentence

CALL = {"name": "write_file", "arguments": {"path": "a.txt", "content": "zebra\n"}}


@pytest.fixture
def stored(machine: Machine) -> Machine:
    """Two sessions: ``first`` with a tool call and ``second``."""
    machine.env["HOOKLINE_MODEL"] = machine.script(
        {"when": "begin", "text": "I write.", "tools": [CALL]},
        {"text": "The Quokka is here, Grüße.", "repeat": True},
    )
    assert machine.run("run", "begin with an aardvark", "--session", "first").code == 0
    assert machine.run("run", "another aardvark walks", "--session", "second").code == 0
    return machine


@pytest.mark.slow
def test_sessions_list_shows_the_newest_first(stored: Machine) -> None:
    stored.run("run", "/title My voyage", "--session", "first")
    rows = stored.run("sessions", "list", "--json").json
    assert all(
        set(row) == {"id", "title", "channel", "chat", "created", "updated", "turns"}
        for row in rows
    )
    by_id = {row["id"]: row for row in rows}
    assert set(by_id) == {"first", "second"}
    assert (by_id["first"]["title"], by_id["first"]["turns"]) == ("My voyage", 1)
    assert {(row["channel"], row["chat"]) for row in rows} == {("terminal", "default")}
    assert all(row["updated"] >= row["created"] > 0 for row in rows)
    times = [row["updated"] for row in rows]
    assert times == sorted(times, reverse=True)
    assert "My voyage" in stored.run("sessions", "list").out


@pytest.mark.slow
def test_sessions_export_show_and_search_find_every_message(stored: Machine) -> None:
    exported = stored.messages("first")
    assert [m["role"] for m in exported] == ["user", "assistant", "user", "assistant"]
    kinds = [[block["type"] for block in message["blocks"]] for message in exported]
    assert kinds == [["text"], ["text", "tool_call"], ["tool_result"], ["text"]]
    assert exported[0]["blocks"][0]["text"] == "begin with an aardvark"
    assert exported[1]["blocks"][1]["arguments"] == CALL["arguments"]
    shown = stored.run("sessions", "show", "first")
    for words in ("aardvark", "write_file", "The Quokka is here, Grüße."):
        assert words in shown.out

    def found(*words: str) -> set[str]:
        done = stored.run("sessions", "search", *words, "--json")
        assert done.code == 0, done.err
        return {row["session_id"] for row in done.json}

    assert found("aardvark") == {"first", "second"}
    assert found("aardvark walks") == {"second"}
    assert found("\"') OR 1 --") == set()


@pytest.mark.slow
def test_sessions_delete_needs_yes(stored: Machine) -> None:
    asked = stored.run("sessions", "delete", "first")
    assert asked.code == 2
    assert "--yes" in asked.err
    done = stored.run("sessions", "delete", "first", "--yes")
    assert done.code == 0, done.err
    assert [row["id"] for row in stored.run("sessions", "list", "--json").json] == ["second"]
    assert "first" not in stored.run("sessions", "search", "zebra aardvark begin").out


@pytest.mark.slow
@pytest.mark.parametrize("command", [["export"], ["delete", "--yes"]])
def test_unknown_session_gives_an_error_sentence(machine: Machine, command: list[str]) -> None:
    done = machine.run("sessions", *command, "nosuch")
    assert done.code in (1, 2)
    assert not done.out
    assert "nosuch" in done.err
    assert is_sentence(done.err)


@pytest.mark.slow
def test_stored_prompt_is_shown_without_a_model(hello_machine: Machine) -> None:
    assert hello_machine.run("run", "hello", "--session", "s").code == 0
    del hello_machine.env["HOOKLINE_MODEL"]
    done = hello_machine.run("prompt", "--session", "s", "--json")
    assert done.code == 0, done.err
    assert "write_file" in json.dumps(done.json["tools"])


@pytest.mark.slow
def test_stored_prompt_ignores_later_config_changes(hello_machine: Machine) -> None:
    assert hello_machine.run("run", "hello", "--session", "s").code == 0
    before = hello_machine.run("prompt", "--session", "s", "--json").json
    hello_machine.config("operator_message: Mind the wombats.\nplugins: {files: false}\n")
    after = hello_machine.run("prompt", "--session", "s", "--json").json
    fresh = hello_machine.run("prompt", "--json").json
    assert (after["system"], after["sha256"]) == (before["system"], before["sha256"])
    assert "wombats" in fresh["system"]
    assert "write_file" not in [tool["name"] for tool in fresh["tools"]]
