"""Two homes on one store share notes and skills, and manual edits are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.machine import Machine

SKILL = "---\nname: make-tea\ndescription: Make tea the way they like it.\n---\n\n1. Boil water.\n"
Call = tuple[str, dict[str, Any]]


@pytest.fixture
def node(tmp_path: Path, postgres_url: str) -> Callable[[str], Machine]:
    """A machine with its own home, on the shared store."""

    def make(name: str) -> Machine:
        (tmp_path / name / "work").mkdir(parents=True)
        machine = Machine(tmp_path / name / "home", tmp_path / name / "work")
        machine.env["HOOKLINE_STORE"] = postgres_url
        machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello", "repeat": True})
        return machine

    return make


def calls(machine: Machine, tool: str, **arguments: Any) -> None:
    """Let the model call a tool."""
    step = {"text": "", "tools": [{"name": tool, "arguments": arguments}]}
    model = machine.script(step, {"text": "done", "repeat": True}, name="call.yaml")
    done = machine.run("run", "go", env={"HOOKLINE_MODEL": model})
    assert done.code == 0, done.err


def note(machine: Machine) -> Path:
    return machine.home / "memories" / "MEMORY.md"


def sync(machine: Machine) -> Machine:
    """Run a turn, so that the home syncs its files."""
    assert machine.run("run", "hi").code == 0
    return machine


@pytest.mark.slow
def test_shared_notes_and_skills_and_deletions_reach_the_other_home(
    node: Callable[[str], Machine],
) -> None:
    here, there = node("here"), node("there")
    calls(here, "memory", action="add", content="Prefers Grüße")
    calls(here, "skill_manage", action="create", name="make-tea", content=SKILL)
    sync(there)
    assert note(there).read_bytes() == note(here).read_bytes()
    assert "Prefers Grüße" in note(there).read_text()
    skill = Path("skills") / "make-tea" / "SKILL.md"
    assert (there.home / skill).read_bytes() == (here.home / skill).read_bytes()
    assert "make-tea" in there.run("skills", "list").out
    assert (there.home / skill).stat().st_mode & 0o777 == 0o600
    calls(there, "memory", action="add", content="Drinks Oolong")
    assert there.run("skills", "archive", "make-tea").code == 0
    sync(here)
    assert "Drinks Oolong" in note(here).read_text()
    assert "Prefers Grüße" in note(here).read_text()
    assert not (here.home / skill).exists()


@pytest.mark.slow
def test_manual_edit_is_kept_and_reaches_other_homes(node: Callable[[str], Machine]) -> None:
    here, there = node("here"), node("there")
    calls(here, "memory", action="add", content="Prefers tea")
    sync(there)
    note(there).write_text("Prefers coffee\n")
    sync(there)
    assert note(there).read_text() == "Prefers coffee\n"
    sync(here)
    assert note(here).read_text() == "Prefers coffee\n"
    note(here).unlink()
    sync(here)
    sync(there)
    assert not note(there).exists()


@pytest.mark.slow
def test_shared_file_conflict_keeps_both_edits(node: Callable[[str], Machine]) -> None:
    here, there = node("here"), node("there")
    calls(here, "memory", action="add", content="Prefers tea")
    sync(there)
    note(here).write_text("Prefers coffee\n")
    note(there).write_text("Prefers cocoa\n")
    sync(here)
    sync(there)
    sync(here)
    assert note(here).read_text() == note(there).read_text() == "Prefers cocoa\n"
    kept = list((there.home / "plugins" / "shared-files" / "conflicts").iterdir())
    assert [file.read_text() for file in kept] == ["Prefers coffee\n"]


@pytest.mark.slow
def test_joining_home_gets_shared_files_and_loses_nothing(node: Callable[[str], Machine]) -> None:
    here, there = node("here"), node("there")
    calls(here, "memory", action="add", content="Prefers tea")
    note(there).parent.mkdir(parents=True)
    note(there).write_text("An older note\n")
    skill = there.home / "skills" / "own" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL.replace("make-tea", "own"))
    sync(there)
    assert "Prefers tea" in note(there).read_text()
    kept = list((there.home / "plugins" / "shared-files" / "conflicts").iterdir())
    assert [file.read_text() for file in kept] == ["An older note\n"]
    sync(here)
    assert (here.home / "skills" / "own" / "SKILL.md").read_bytes() == skill.read_bytes()


@pytest.mark.slow
def test_shared_files_skip_links_and_binary_files(
    node: Callable[[str], Machine], tmp_path: Path
) -> None:
    here, there = node("here"), node("there")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder = here.home / "skills" / "odd"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.replace("make-tea", "odd"))
    (folder / "picture.bin").write_bytes(b"\xff\xfe\x00")
    (folder / "link").symlink_to(secret)
    (folder / ".hidden").write_text("hidden")
    sync(here)
    sync(there)
    assert [file.name for file in (there.home / "skills" / "odd").iterdir()] == ["SKILL.md"]


@pytest.mark.slow
@pytest.mark.sqlite
def test_shared_files_are_off_on_sqlite(machine: Machine) -> None:
    machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello", "repeat": True})
    calls(machine, "memory", action="add", content="Prefers tea")
    assert not (machine.home / "plugins" / "shared-files").exists()


@pytest.mark.slow
def test_shared_file_synced_by_another_process_is_not_an_edit(
    node: Callable[[str], Machine],
) -> None:
    here, there = node("here"), node("there")
    known = there.home / "plugins" / "shared-files" / "shared-files.json"
    calls(here, "memory", action="add", content="First")
    sync(there)
    before = known.read_bytes()
    calls(here, "memory", action="add", content="Second")
    sync(there)
    known.write_bytes(before)  # as another process there wrote it that had not seen the second
    calls(here, "memory", action="add", content="Third")
    sync(there)
    assert "Third" in note(there).read_text()
    assert not (there.home / "plugins" / "shared-files" / "conflicts").exists()
