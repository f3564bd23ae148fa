"""Two processes on one home: one at a time in a session, in parallel in two."""

from __future__ import annotations

import json
import subprocess

import pytest
from support.machine import Machine


def start_waiting_turn(machine: Machine, session: str) -> subprocess.Popen[bytes]:
    """A process in the middle of a turn that ends once there is a file ``go``."""
    command = "touch began; until [ -e go ]; do sleep 0.05; done"
    model = machine.script(
        {"tools": [{"name": "bash", "arguments": {"command": command}}]},
        {"text": "first answer"},
        name="held.yaml",
    )
    process = machine.start(
        "run", "first", "--session", session, "--model", model, "--json", "--yes"
    )
    machine.wait_for("began")
    return process


@pytest.mark.slow
def test_second_process_on_a_session_waits_for_the_first(machine: Machine) -> None:
    first = start_waiting_turn(machine, "s")
    model = machine.script({"when": "second", "text": "second answer"})
    second = machine.start("run", "second", "--session", "s", "--model", model, "--json")
    assert second.stdout is not None
    notice = json.loads(second.stdout.readline())
    assert first.poll() is None
    (machine.workspace / "go").touch()
    done, later = machine.wait(first), machine.wait(second)
    assert (done.code, later.code) == (0, 0), done.err + later.err
    assert notice["text"] == "Session s is in use by another process. Waiting until it is free …"
    assert (notice["type"], later.events[0]["type"]) == ("notice", "start")
    assert later.events[0]["ts"] >= done.result["ts"]
    said = machine.said("s")
    assert (said[0], *said[-3:]) == (
        ("user", "first"),
        ("assistant", "first answer"),
        ("user", "second"),
        ("assistant", "second answer"),
    )


@pytest.mark.slow
def test_processes_on_two_sessions_run_in_parallel(machine: Machine) -> None:
    first = start_waiting_turn(machine, "a")
    model = machine.script({"text": "second answer"})
    second = machine.run("run", "second", "--session", "b", "--model", model)
    still_at_work = first.poll() is None
    (machine.workspace / "go").touch()
    done = machine.wait(first)
    assert (second.code, second.out) == (0, "second answer\n"), second.err
    assert still_at_work
    assert (done.code, done.result["text"]) == (0, "first answer"), done.err
    assert machine.said("b") == [("user", "second"), ("assistant", "second answer")]


@pytest.mark.slow
def test_three_processes_starting_on_a_fresh_home_lose_nothing(hello_machine: Machine) -> None:
    crowd = [hello_machine.start("run", f"number {n}", "--session", f"s{n}") for n in range(3)]
    done = [hello_machine.wait(process) for process in crowd]
    assert [(each.code, each.out) for each in done] == [(0, "hello\n")] * 3, done
    rows = hello_machine.run("sessions", "list", "--json").json
    assert {row["id"]: row["turns"] for row in rows} == {f"s{n}": 1 for n in range(3)}
