"""An unfinished or killed review is done once by the next process."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.machine import Machine
from support.openai_server import OpenAIServer, Reply, Use

REVIEW = "This is a review of the conversation"
PORTRAIT = "You keep a short profile"
WORK = 10
SKILL = """\
---
name: count-files
description: Count the files of a folder. Use it when asked how many files there are.
---
# Count files

1. List the folder.
2. Count.
"""
NOTE = "The folder holds three files."
QUICK = "Do not look."
LEARNT = (
    Use("skill_manage", {"action": "create", "name": "count-files", "content": SKILL}),
    Use("memory", {"action": "add", "content": NOTE}),
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "work").mkdir()
    made = Machine(tmp_path / "home", tmp_path / "work")
    made.env |= {"HOOKLINE_MODEL": "openai/gpt-5", "HOOKLINE_PLUGINS__TITLES": "false"}
    return made


def answer(body: Mapping[str, Any]) -> Reply:
    """Works, answers, and learns when it is asked to; what counts is what the request holds."""
    sent = json.dumps(body)
    if PORTRAIT in sent:
        return Reply('{"narrative": "Counts files."}')
    messages = body["messages"]
    calls = [call for m in messages for call in m.get("tool_calls") or ()]
    if REVIEW in sent:
        learnt = [call for call in calls if call["function"]["name"] != "glob"]
        return Reply("Kept.") if len(learnt) == len(LEARNT) else Reply(tools=[LEARNT[len(learnt)]])
    if QUICK in sent:
        return Reply("At once.")
    asked = sum(m["role"] == "user" for m in messages)
    if asked > 1 or len(calls) >= WORK:
        return Reply("There are three.")
    return Reply(tools=[Use("glob", {"pattern": f"*{len(calls)}*"})])


OTHER_POINTS = (
    *(f"before-model:{WORK + 2}", f"after-model:{WORK + 2}", f"before-tool:{WORK + 1}"),
    *(f"mid-tool:{WORK + 2}", f"after-tool:{WORK + 2}", "before-reply:2"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    [
        f"mid-tool:{WORK + 1}",
        *(pytest.param(point, marks=pytest.mark.slow) for point in OTHER_POINTS),
    ],
)
def test_review_killed_at_any_point_is_done_by_the_next_process(
    machine: Machine, point: str
) -> None:
    (machine.workspace / "a").touch()
    with OpenAIServer(answer) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        options = ("--session", "s", "--no-input")
        killed = machine.run("run", "How many?", *options, env={**env, "HOOKLINE_CRASH_AT": point})
        assert killed.code == -9, killed.err
        assert killed.out == "There are three.\n"
        learned(machine)
        after = machine.run("run", "And now?", *options, env=env)
        assert (after.code, after.out) == (0, "There are three.\n"), after.err
    assert learned(machine) == ({"count-files"}, [NOTE])


def reviews(server: OpenAIServer) -> int:
    """How many reviews have been begun."""
    last = [
        json.dumps((request.json or {}).get("messages", [""])[-1]) for request in server.requests
    ]
    return sum(REVIEW in message for message in last)


@pytest.mark.slow
def test_review_skipped_by_no_wait_is_done_by_the_next_process(machine: Machine) -> None:
    with OpenAIServer(answer) as server:
        machine.env["OPENAI_BASE_URL"] = server.base_url
        first = machine.run("run", "How many?", "--session", "s", "--no-wait")
        assert (first.code, first.out) == (0, "There are three.\n"), first.err
        assert reviews(server) == 0
        for session in ("other", "third"):
            after = machine.run("run", "How many?", "--session", session, "--no-input")
            assert (after.code, after.out) == (0, "There are three.\n"), after.err
    assert learned(machine) == ({"count-files"}, [NOTE])
    assert reviews(server) == 3


@pytest.mark.slow
def test_review_is_done_once_by_two_processes(machine: Machine) -> None:
    with OpenAIServer(answer) as server:
        machine.env["OPENAI_BASE_URL"] = server.base_url
        first = machine.run("run", "How many?", "--session", "s", "--no-wait")
        assert first.code == 0, first.err
        # Their own turns are too short for a review.
        together = [machine.start("run", QUICK, "--session", f"s{n}") for n in range(2)]
        done = [machine.wait(process) for process in together]
        assert [(each.code, each.out) for each in done] == [(0, "At once.\n")] * 2, done
    assert reviews(server) == 1
    assert learned(machine) == ({"count-files"}, [NOTE])


@pytest.mark.slow
def test_review_is_done_by_the_next_process_after_a_kill_at_the_reply(machine: Machine) -> None:
    with OpenAIServer(answer) as server:
        machine.env["OPENAI_BASE_URL"] = server.base_url
        point = {"HOOKLINE_CRASH_AT": "after-send"}
        killed = machine.run("run", "How many?", "--session", "s", "--no-input", env=point)
        assert (killed.code, killed.out) == (-9, "There are three.\n"), killed.err
        assert reviews(server) == 0
        after = machine.run("run", QUICK, "--session", "other", "--no-input")
        assert (after.code, after.out) == (0, "At once.\n"), after.err
    assert reviews(server) == 1
    assert learned(machine) == ({"count-files"}, [NOTE])


@pytest.mark.slow
def test_review_killed_while_running_is_done_by_the_next_process(machine: Machine) -> None:
    begun = threading.Event()

    def hangs_in_the_first_review(body: Mapping[str, Any]) -> Reply:
        if REVIEW in json.dumps(body) and PORTRAIT not in json.dumps(body) and not begun.is_set():
            begun.set()
            return Reply("Too late.", delay=60)
        return answer(body)

    with OpenAIServer(hangs_in_the_first_review) as server:
        machine.env["OPENAI_BASE_URL"] = server.base_url
        process = machine.start("run", "How many?", "--session", "s", "--no-input")
        assert process.stdout is not None
        assert process.stdout.readline() == b"There are three.\n"
        assert begun.wait(20)
        process.kill()
        assert machine.wait(process).code == -9
        after = machine.run("run", QUICK, "--session", "other", "--no-input")
        assert (after.code, after.out) == (0, "At once.\n"), after.err
    assert learned(machine) == ({"count-files"}, [NOTE])


def learned(machine: Machine) -> tuple[set[str], list[str]]:
    """The skills and notes that are there, every file readable and valid."""
    skills = {path.parent.name for path in machine.home.glob("skills/*/SKILL.md")}
    for name in skills:
        checked = machine.run("skills", "validate", machine.home / "skills" / name)
        assert checked.code == 0, checked.out + checked.err
    listed = machine.run("memory", "list", "--json")
    assert listed.code == 0, listed.err
    left = [path for path in machine.home.rglob("*.tmp") if "logs" not in path.parts]
    assert left == []
    return skills, [row["text"] for row in listed.json if row["kind"] == "note"]
