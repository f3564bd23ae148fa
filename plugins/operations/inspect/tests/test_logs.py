"""``hookline logs``: the records of the log, filtered and followed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.machine import Machine
from support.site_packages import Site

CHATTY = """
from hookline_hookspecs import Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig

class One(Plugin[NoConfig]):
    @hookimpl
    def start_of_turn(self, ctx, turn):
        self.log.debug("a detail")
        self.log.info("a turn starts")
        ctx.log.warning("a warning\\nwith two lines")
        raise RuntimeError("it broke")
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with the plugin ``chatty``, which logs at every level and fails."""
    (tmp_path / "work").mkdir()
    made = Machine(tmp_path / "home", tmp_path / "work")
    made.home.mkdir(mode=0o700)
    made.env["HOOKLINE_MODEL"] = made.script({"text": "hello", "repeat": True})
    site = Site(tmp_path / "site")
    inherited = made.environment().get("PYTHONPATH")
    made.env["PYTHONPATH"] = f"{inherited}:{site.path}" if inherited else str(site.path)
    site.dist("chatty", "chatty", CHATTY)
    return made


def records(machine: Machine, *options: str) -> list[dict[str, Any]]:
    done = machine.run("logs", "--json", *options)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.long
def test_logs_show_one_plugin_at_its_level(machine: Machine) -> None:
    (machine.home / "config.yaml").write_text(
        "plugins: {chatty: true}\nlog: {plugins: {chatty: info}}\n"
    )
    assert machine.run("run", "hi").out == "hello\n"
    found = records(machine, "--plugin", "chatty")
    assert [(one["level"], one["text"].split("\n")[0]) for one in found] == [
        ("INFO", "a turn starts"),
        ("WARNING", "a warning"),
        ("WARNING", "plugin chatty failed in start_of_turn: RuntimeError: it broke"),
    ]
    assert "with two lines" in found[1]["text"]
    assert "Traceback" in found[2]["text"]
    assert len(records(machine, "--plugin", "chatty", "--level", "warning")) == 2
    assert [one["text"] for one in records(machine, "--plugin", "chatty", "-n", "1")] == [
        found[2]["text"]
    ]
    assert records(machine, "--plugin", "chat") == []


@pytest.mark.long
def test_logs_level_is_warning_by_default(machine: Machine) -> None:
    (machine.home / "config.yaml").write_text("plugins: {chatty: true}\n")
    machine.run("run", "hi")
    assert {one["level"] for one in records(machine)} == {"WARNING"}


def test_logs_without_a_log_are_empty(machine: Machine) -> None:
    assert records(machine) == []


def test_logs_refuse_an_unknown_level(machine: Machine) -> None:
    done = machine.run("logs", "--level", "loud")
    assert (done.code, "unknown level loud. Use debug, info" in done.err) == (2, True)


@pytest.fixture
def followed(machine: Machine) -> Iterator[Callable[[], str]]:
    """``hookline logs --follow`` in a process; reads its next line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hookline", "logs", "--follow"],
        env=machine.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as lines:
        yield lambda: lines.readline().rstrip("\n")
        process.kill()
    process.wait()


def record(text: str) -> str:
    return f"2026-01-02 03:04:05,678 WARNING hookline.turn: {text}\n"


@pytest.mark.long
def test_logs_follow_a_rotated_log(machine: Machine, followed: Callable[[], str]) -> None:
    folder = machine.home / "logs"
    folder.mkdir(exist_ok=True)
    log = folder / "hookline.log"
    with log.open("a") as file:
        file.write(record("first"))
    assert followed().endswith("first")
    with log.open("a") as file:
        file.write(record("second"))
        log.replace(folder / "hookline.log.1")
        file.write(record("third"))
    time.sleep(0.1)
    log.write_text(record("fourth"))
    assert [followed().rpartition(" ")[2] for _ in range(3)] == ["second", "third", "fourth"]
