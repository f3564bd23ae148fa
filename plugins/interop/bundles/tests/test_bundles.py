"""Bundles are added, listed, used, updated and removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool

from .conftest import Make, write


class Shell(Plugin):
    """Notes what would be run."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.ran: list[str] = []

    @tool
    def bash(self, command: str) -> str:
        """Run a command."""
        self.ran.append(command)
        return f"ran {command}"


def info(h: Harness, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(h.cli(f"bundles info {name} --json").stdout)
    return found


def test_bundle_is_added_shown_and_removed(make: Make, demo: Path) -> None:
    h = make()
    added = h.cli(f"bundles add {demo} --yes")
    assert added.exit_code == 0, added.stderr
    assert "runs at PreToolUse (Bash)" in added.stdout
    (row,) = json.loads(h.cli("bundles list --json").stdout)
    assert row["name"] == "demo"
    assert row["state"] == "on"
    assert row["source"] == str(demo)
    assert len(row["sha256"]) == 64
    assert row["parts"]["skills"] == ["tidy"]
    assert row["parts"]["commands"] == ["review"]
    assert row["parts"]["agents"] == ["checker"]
    assert len(row["parts"]["hooks"]) == 1
    assert row["problems"] == []
    removed = h.cli("bundles remove demo --yes")
    assert removed.exit_code == 0
    assert "It no longer checks Bash at PreToolUse." in removed.stdout
    assert json.loads(h.cli("bundles list --json").stdout) == []


def test_adding_without_a_terminal_needs_yes(make: Make, demo: Path) -> None:
    h = make()
    done = h.cli(f"bundles add {demo}")
    assert done.exit_code != 0
    assert "--yes" in done.stderr
    assert json.loads(h.cli("bundles list --json").stdout) == []


def test_command_of_a_bundle_becomes_the_message(make: Make, demo: Path) -> None:
    h = make(model=["reviewed"])
    h.cli(f"bundles add {demo} --yes")
    assert h.send("/review a.py now").text == "reviewed"
    assert "Review a.py of: a.py now" in str(h.model.requests[0].messages[-1])


def test_command_is_listed_and_has_a_full_name(make: Make, demo: Path) -> None:
    h = make(model=["reviewed"])
    h.cli(f"bundles add {demo} --yes")
    h.send("/new")
    assert "/review" in h.send("/help all").text
    assert h.send("/demo:review x").text == "reviewed"


def test_guard_of_a_bundle_refuses(make: Make, demo: Path) -> None:
    h = make(
        Shell, model=[calls("bash", command="forbidden"), "ok", calls("bash", command="ls"), "ok"]
    )
    h.cli(f"bundles add {demo} --yes")
    assert h.send("try").tool_calls[0].text == "Denied: demo: not forbidden"
    assert h.send("list").tool_calls[0].text == "ran ls"
    assert h.plugin(Shell).ran == ["ls"]


def test_skill_of_a_bundle_is_offered_with_its_namespace(make: Make, demo: Path) -> None:
    skills = pytest.importorskip("hookline_skills").Skills
    h = make(skills, model=[calls("skill_view", name="demo:tidy"), "done"])
    h.cli(f"bundles add {demo} --yes")
    outcome = h.send("hello", session="fresh")
    assert "demo:tidy" in h.model.requests[0].system
    assert "Step one." in outcome.tool_calls[0].text


def test_changed_bundle_is_not_used_and_named(make: Make, demo: Path) -> None:
    h = make(Shell, model=["ok"])
    h.cli(f"bundles add {demo} --yes")
    write(h.home / "bundles/demo/guard.sh", "#!/bin/sh\nexit 0\n", executable=True)
    outcome = h.send("try", session="later")
    assert any("demo" in n.text and "changed" in n.text for n in outcome.notices)
    assert info(h, "demo")["state"] == "changed"


def test_update_shows_changes_and_replaces(make: Make, demo: Path) -> None:
    h = make()
    h.cli(f"bundles add {demo} --yes")
    before = info(h, "demo")["sha256"]
    assert "up to date" in h.cli("bundles update demo --yes").stdout
    write(demo / "commands/plan.md", "Plan $ARGUMENTS\n")
    shown = h.cli("bundles update demo --yes").stdout
    assert "new: commands/plan.md" in shown
    assert info(h, "demo")["sha256"] != before
    assert sorted(info(h, "demo")["parts"]["commands"]) == ["plan", "review"]
