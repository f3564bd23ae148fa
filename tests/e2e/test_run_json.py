"""``hookline run --json``: its events, their order and fields."""

from __future__ import annotations

from typing import Any

import pytest
from support.machine import PATIENCE, Finished, Machine

COMMON = {"type", "session", "turn", "ts"}
FIELDS = {
    "start": set(),
    "delta": {"text"},
    "tool_call": {"id", "name", "arguments"},
    "tool_result": {"id", "name", "ok", "text"},
    "question": {"text", "choices"},
    "notice": {"plugin", "text"},
    "error": {"kind", "text"},
    "result": {"text", "usage", "tool_calls", "stop"},
}
USAGE = {"input", "cache_read", "cache_write", "output", "reasoning"}
CALL = {"name": "list_dir", "arguments": {"path": "."}}


def well_formed(done: Finished) -> list[str]:
    """Checks every line's fields and that the result is the last; returns the types."""
    assert done.events, done.err
    for event in done.events:
        assert set(event) == COMMON | FIELDS[event["type"]], event
        assert isinstance(event["ts"], float)
    types = [event["type"] for event in done.events]
    assert types.count("result") == 1
    assert types[-1] == "result"
    result = done.result
    assert set(result["usage"]) == USAGE
    assert all(type(count) is int for count in result["usage"].values())
    assert type(result["tool_calls"]) is int
    assert isinstance(result["stop"], str)
    return types


def without_repeats(types: list[str]) -> list[str]:
    """The types without repeats of the same one."""
    return [t for at, t in enumerate(types) if at == 0 or types[at - 1] != t]


@pytest.mark.slow
def test_run_json_events_of_a_turn_with_tools(machine: Machine) -> None:
    model = machine.script(
        {"text": "I look.", "tools": [CALL, {"name": "glob", "arguments": {"pattern": "*"}}]},
        {"text": "There is\nnothing, Grüße."},
    )
    done = machine.run("run", "look", "--model", model, "--session", "s", "--json")
    assert done.code == 0, done.err
    types = without_repeats(well_formed(done))
    assert types == ["start", "delta", "tool_call", "tool_result", "delta", "result"]
    by_type: dict[str, list[dict[str, Any]]] = {}
    for event in done.events:
        by_type.setdefault(event["type"], []).append(event)
    assert [call["name"] for call in by_type["tool_call"]] == ["list_dir", "glob"]
    assert by_type["tool_call"][0]["arguments"] == {"path": "."}
    assert {c["id"] for c in by_type["tool_call"]} == {r["id"] for r in by_type["tool_result"]}
    assert [result["ok"] for result in by_type["tool_result"]] == [True, True]
    said = "".join(delta["text"] for delta in by_type["delta"])
    assert said == "I look." + done.result["text"]
    assert done.result["text"] == "There is\nnothing, Grüße."
    assert (done.result["tool_calls"], done.result["stop"]) == (2, "done")
    assert done.result["usage"]["input"] > 0
    assert {event["session"] for event in done.events} == {"s"}
    assert len({event["turn"] for event in done.events}) == 1
    times = [event["ts"] for event in done.events]
    assert times == sorted(times)
    assert "Grüße" in done.out


@pytest.mark.slow
def test_run_json_events_of_a_provider_error(machine: Machine) -> None:
    model = machine.script({"fault": "auth"})
    done = machine.run("run", "look", "--model", model, "--json")
    assert done.code == 1
    assert well_formed(done) == ["start", "error", "result"]
    assert done.events[1]["kind"] == "auth"
    assert done.events[1]["text"]
    assert done.result["stop"] == "error"


@pytest.mark.slow
def test_run_json_config_error_ends_in_a_result(machine: Machine) -> None:
    machine.config("model: nowhere\n")
    wrong = machine.run("run", "look", "--json")
    assert wrong.code == 2
    assert well_formed(wrong) == ["error", "result"]
    assert wrong.result["stop"] == "error"
    assert "config.yaml:1: model:" in wrong.err


@pytest.mark.slow
def test_run_json_without_model_or_picture_ends_in_a_result(hello_machine: Machine) -> None:
    picture = hello_machine.run("run", "look", "--json", "--image", "absent.png")
    unset = hello_machine.run("run", "look", "--json", env={"HOOKLINE_MODEL": "null"})
    for done in (picture, unset):
        assert done.code == 2
        assert well_formed(done) == ["error", "result"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--json"], []])
def test_run_with_closed_stdout_exits_quietly(hello_machine: Machine, options: list[str]) -> None:
    process = hello_machine.start("run", "look", *options)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr as stderr:
        told = stderr.read()
    assert (process.wait(PATIENCE), told) == (1, b"")


@pytest.mark.slow
def test_run_json_error_event_says_what_to_do(machine: Machine) -> None:
    done = machine.run("run", "look", "--json")
    assert done.code == 2
    assert "hookline demo" in done.events[0]["text"]


@pytest.mark.slow
def test_run_json_home_that_cannot_be_created_ends_in_a_result(hello_machine: Machine) -> None:
    done = hello_machine.run("run", "look", "--json", "--home", "/proc/nowhere")
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    assert well_formed(done)[-1] == "result"


@pytest.mark.slow
def test_run_json_slash_command_is_one_result(hello_machine: Machine) -> None:
    done = hello_machine.run("run", "/whoami", "--json")
    assert (done.code, well_formed(done)) == (0, ["result"])
    assert done.result["text"].startswith("terminal:")
    assert done.result["tool_calls"] == 0


@pytest.mark.slow
@pytest.mark.sqlite
def test_run_json_store_that_cannot_be_opened_ends_in_a_result(hello_machine: Machine) -> None:
    hello_machine.config("trace: false\n")
    (hello_machine.home / "hookline.db").write_bytes(b"this is no database at all, " * 200)
    done = hello_machine.run("run", "look", "--json")
    assert done.code == 1
    assert "hookline.db" in done.err
    assert "Traceback" not in done.err
    assert well_formed(done)[-1] == "result"
