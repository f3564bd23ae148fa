"""Project folders are used once the person trusts them, with what they hold then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness

from .conftest import GUARD, Make, skill_text, write, write_json
from .test_hooks import BASH, Tools


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A cloned repository with a guard, a command and a skill."""
    folder = tmp_path / "clone"
    hook = {"type": "command", "command": '"$CLAUDE_PROJECT_DIR"/tools/guard.sh'}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    write_json(folder / ".claude/settings.json", settings)
    write(folder / ".claude/commands/ship.md", "Ship $ARGUMENTS\n")
    write(folder / ".claude/skills/tidy/SKILL.md", skill_text("tidy"))
    write(folder / "tools/guard.sh", GUARD.format(word="push"), executable=True)
    return folder


def states(h: Harness) -> dict[str, str]:
    rows: list[dict[str, Any]] = json.loads(h.cli("bundles list --json").stdout)
    return {row["name"]: row["state"] for row in rows}


def test_untrusted_folder_runs_nothing_and_is_named(make: Make, workspace: Path) -> None:
    h = make(Tools, model=BASH, workspace=workspace)
    outcome = h.send("go")
    assert outcome.tool_calls[0].text == "ran"
    assert any("hookline trust" in notice.text for notice in outcome.notices)
    assert states(h) == {"claude-project": "untrusted"}
    assert "Unknown command" in h.send("/ship it").text


def test_trusted_folder_is_used(make: Make, workspace: Path) -> None:
    h = make(Tools, model=[*BASH, "shipped"], workspace=workspace)
    shown = h.cli(f"trust {workspace} --yes").stdout
    assert "guard.sh" in shown
    assert "/ship" in shown
    assert h.send("go").tool_calls[0].text == "Denied: claude-project: not push"
    assert h.send("/ship it").text == "shipped"
    assert "Ship it" in str(h.model.requests[-1].messages[-1])


@pytest.mark.parametrize(
    "file", ["tools/guard.sh", ".claude/commands/ship.md", ".claude/settings.json"]
)
def test_change_of_a_trusted_folder_ends_its_use(make: Make, workspace: Path, file: str) -> None:
    h = make(Tools, model=BASH, workspace=workspace)
    h.cli(f"trust {workspace} --yes")
    with (workspace / file).open("a") as stream:
        stream.write("\n" if file.endswith("md") else " ")
    if file.endswith("settings.json"):
        hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}
        write_json(workspace / file, {"hooks": hooks})
    outcome = h.send("go")
    assert states(h) == {"claude-project": "changed"}
    assert any("changed since you trusted" in notice.text for notice in outcome.notices)
    assert not (workspace / "ran").exists()


def test_revoked_folder_is_not_used(make: Make, workspace: Path) -> None:
    h = make(Tools, model=BASH, workspace=workspace)
    h.cli(f"trust {workspace} --yes")
    h.cli(f"trust {workspace} --revoke")
    h.send("go")
    assert states(h) == {"claude-project": "untrusted"}


def test_folders_of_the_person_need_trust_too(make: Make, person: Path) -> None:
    write(person / ".claude/commands/mine.md", "Mine\n")
    h = make(Tools, model=["done"])
    assert states(h) == {"claude-user": "untrusted"}
    h.cli(f"trust {person} --yes")
    assert states(h) == {"claude-user": "on"}


def test_bundles_in_agents_plugins_are_found(make: Make, workspace: Path) -> None:
    write_json(workspace / ".agents/plugins/one/.claude-plugin/plugin.json", {"name": "one"})
    write(workspace / ".agents/plugins/one/commands/plan.md", "Plan\n")
    h = make(Tools, workspace=workspace)
    assert states(h)["one"] == "untrusted"
    h.cli(f"trust {workspace} --yes")
    assert states(h)["one"] == "on"


def test_projects_can_be_switched_off(make: Make, workspace: Path) -> None:
    h = make(Tools, model=BASH, workspace=workspace, config={"bundles": {"projects": False}})
    assert states(h) == {}
    assert h.send("go").notices == ()
