"""``hookline sessions --live`` beside processes that run a turn or have a chat open."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.machine import Machine
from support.terminal import TerminalScreen

STEPS = """steps:
  - {when: "", tools: [{name: bash, arguments: {command: "sleep 60"}}]}
"""
NOTHING = "No chat is open, and no session is running or waiting."
CHAT_STEPS = """steps:
  - {when: "^work", tools: [{name: bash, arguments: {command: "sleep 60"}}]}
  - {when: "^ask", tools: [{name: bash, arguments: {command: "touch asked"}}]}
  - {when: "", text: "Heard.", repeat: true}
"""
pytestmark = pytest.mark.long


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "work").mkdir()
    return Machine(tmp_path / "home", tmp_path / "work")


def listed(machine: Machine) -> list[dict[str, Any]]:
    """What ``--json`` prints."""
    found: list[dict[str, Any]] = machine.run("sessions", "--live", "--json").json
    return found


def wait_until(
    machine: Machine, seen: Callable[[list[dict[str, Any]]], bool]
) -> list[dict[str, Any]]:
    until = time.monotonic() + 60
    while not seen(live := listed(machine)):
        assert time.monotonic() < until, live
    return live


def open_chat(machine: Machine, tmp_path: Path, *arguments: str) -> TerminalScreen:
    (tmp_path / "chat.yaml").write_text(CHAT_STEPS, "utf-8")
    model = f"scripted/{tmp_path / 'chat.yaml'}"
    argv = [sys.executable, "-m", "hookline", "chat", "--model", model, *arguments]
    screen = TerminalScreen(argv, env=machine.environment(), cwd=machine.workspace)
    screen.wait_for("›")
    return screen


def test_open_chats_are_listed_while_they_are_idle_and_while_they_work(
    machine: Machine, tmp_path: Path
) -> None:
    with (
        open_chat(machine, tmp_path, "--session", "first", "--mode", "yolo") as first,
        open_chat(machine, tmp_path, "--session", "second", "--mode", "ask") as second,
    ):
        both = listed(machine)
        assert {(one["id"], one["doing"], one["channel"]) for one in both} == {
            ("first", "idle", "terminal"),
            ("second", "idle", "terminal"),
        }
        assert len({one["pid"] for one in both}) == 2
        assert {one["folder"] for one in both} == {str(machine.workspace)}
        first.type("work\r")
        second.type("ask\r")
        second.wait_for("Deny")
        live = wait_until(machine, lambda live: "working: bash" in [one["doing"] for one in live])
        doing = {one["id"]: one["doing"] for one in live}
        assert doing["second"].startswith("waiting: ")
        shown = machine.run("sessions", "--live").out
        for one in live:
            assert str(one["pid"]) in shown
            assert one["doing"] in shown
        assert f"{machine.workspace} · ask" in shown
        second.type("\x1b")
        second.wait_for("Heard.")
        wait_until(machine, lambda live: "idle" in [one["doing"] for one in live])
        second.type("\x04")
        second.end()
        assert [one["id"] for one in listed(machine)] == ["first"]


def test_open_chat_that_goes_on_in_another_session_is_listed_with_that_one(
    machine: Machine, tmp_path: Path
) -> None:
    with open_chat(machine, tmp_path, "--session", "first") as screen:
        screen.type("hello\r")
        screen.wait_for("Heard.")
        screen.type("/fork\r")
        screen.wait_for("Go back with /resume first")
        (fork,) = wait_until(machine, lambda live: [one["id"] for one in live] != ["first"])
        assert fork["id"] in screen.text
        screen.type("/resume first\r")
        wait_until(machine, lambda live: [one["id"] for one in live] == ["first"])


def test_killed_chat_is_not_listed(machine: Machine, tmp_path: Path) -> None:
    with (
        open_chat(machine, tmp_path, "--session", "killed") as screen,
        open_chat(machine, tmp_path, "--session", "other"),
    ):
        pids = {one["id"]: one["pid"] for one in listed(machine)}
        os.kill(pids["killed"], signal.SIGKILL)
        screen.end()
        assert [one["id"] for one in listed(machine)] == ["other"]
    assert NOTHING in machine.run("sessions", "--live").out


def test_live_sessions_are_those_of_living_processes(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "steps.yaml").write_text(STEPS, "utf-8")
    assert NOTHING in machine.run("sessions", "--live").out
    model = f"scripted/{tmp_path / 'steps.yaml'}"
    running = machine.start("run", "go on", "--session", "busy", "--model", model, "--yes")
    try:
        (one,) = wait_until(machine, lambda live: bool(live) and live[0]["doing"] != "working")
        assert (one["id"], one["channel"], one["doing"]) == ("busy", "terminal", "working: bash")
        assert one["node"]
        assert one["since"] > 0
        shown = machine.run("sessions", "--live").out
        assert "busy" in shown
        assert "working: bash" in shown
    finally:
        running.kill()
        running.communicate()
    assert listed(machine) == []
    assert machine.run("sessions", "show", "busy", "--live").code == 2
