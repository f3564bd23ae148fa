"""Which commands a tool's process may run: by arguments, and by where the process comes from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

import pytest
from hookline_toolmark import MARK
from hookline_toolmark.process_check import refusal, sign_among
from hookline_toolmark.process_tree import Process, from_proc, from_ps

needs_ps = pytest.mark.skipif(not os.path.exists("/bin/ps"), reason="no ps")  # noqa: PTH110


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--version",
        "-V",
        "--help",
        "run --help",
        "pairing approve -h",
        "config path",
        "config schema",
        "skills validate ./mine",
    ],
)
def test_help_and_harmless_commands_run_in_a_tool(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, "1")
    assert refusal(line.split()) == ""


@pytest.mark.parametrize(
    "line",
    [
        "chat",
        "run hello",
        "run --system --help hello",
        "run hello --system --help",
        "run -- --help",
        "run hello! --help",
        "--help run hello",
        "--json config path",
        "plugins list",
        "config get model",
        "config",
        "somebodys own command",
    ],
)
def test_other_commands_are_refused_in_a_tool(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, "")
    assert "in your own terminal" in refusal(line.split())


def process(pid: int, parent: int, **more: Any) -> Process:
    """A process without a terminal, in the one session and control group, started at ``pid``."""
    usual = {"user": 1000, "name": f"p{pid}", "has_terminal": False, "session": 20, "place": "/a"}
    usual |= {"started": float(pid), "is_tool": False}
    return Process(pid=pid, parent=parent, **{**usual, **more})


INIT = process(1, 0, name="init", user=0)
RUNTIME = process(50, 1, is_tool=True, session=50)
ORPHAN = process(90, 1, session=80)
"""Its parents and its session's first process have died."""


def sign(me: Process, *others: Process) -> str:
    everyone = {one.pid: one for one in (me, INIT, RUNTIME, *others)}
    return sign_among(me, everyone.get, everyone.values())


def tool(more: Iterable[tuple[str, Any]] = ()) -> Process:
    return process(60, 50, is_tool=True, **dict(more))


TOOLS = {
    "marked itself, in /proc alone": (process(90, 1, is_tool=True, session=90),),
    "a child of a marked process": (process(90, 60), tool()),
    "a grandchild": (process(90, 80), process(80, 60), tool()),
    "a child of what runs turns": (process(90, 50),),
    "on a terminal all the same": (process(90, 50, has_terminal=True),),
    "an orphan": (ORPHAN,),
    "an orphan that a session's systemd adopted": (
        process(90, 30, session=90),
        process(30, 1, name="systemd"),
    ),
    "an orphan's child": (process(90, 80, session=80), process(80, 1, session=80)),
}
PEOPLE = {
    "a terminal": (process(90, 1, has_terminal=True, session=90),),
    "docker exec": (process(90, 0, session=90),),
    "a shell in docker exec": (process(90, 80, session=80), process(80, 0, session=80)),
    "cron": (process(90, 80, session=80), process(80, 30, session=80), process(30, 1)),
    "a step of CI": (process(90, 30, session=90), process(30, 1)),
    "a script that began before": (process(90, 1, session=20), process(20, 1)),
    "a unit of systemd": (process(90, 1, session=90, place="/system.slice/other.service"),),
    "another account": (process(90, 1, session=90, user=1001),),
    "no parent can be seen": (process(90, 77, session=90),),
}


@pytest.mark.parametrize("shape", TOOLS)
def test_process_of_a_tool_is_detected(shape: str) -> None:
    assert "tool" in sign(*TOOLS[shape])


@pytest.mark.parametrize("shape", PEOPLE)
def test_process_of_a_person_is_not_detected_as_a_tool(shape: str) -> None:
    assert sign(*PEOPLE[shape]) == ""


def test_orphan_without_a_runtime_is_not_a_tool() -> None:
    everyone = {one.pid: one for one in (ORPHAN, INIT)}
    assert sign_among(ORPHAN, everyone.get, everyone.values()) == ""


def test_unknown_process_is_refused() -> None:
    assert "origin is unknown" in sign_among(None, {}.get, ())


@needs_ps
def test_ps_and_proc_agree_on_a_process() -> None:
    shown = from_ps()
    me = shown[os.getpid()]
    assert (me.parent, me.user) == (os.getppid(), os.getuid())
    assert not me.is_tool
    if sys.platform == "linux":
        again = from_proc(me.pid)
        assert again is not None
        assert (again.parent, again.user, again.has_terminal) == (
            me.parent,
            me.user,
            me.has_terminal,
        )
