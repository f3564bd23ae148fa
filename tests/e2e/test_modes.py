"""Modes and destructive commands through `hookline run`, with a scripted model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hookline_sandbox import Method, found
from support.machine import Machine


def command_result(machine: Machine, command: str, *options: str) -> str:
    """The result of a command that the model gets."""
    call = {"name": "bash", "arguments": {"command": command}}
    model = machine.script({"tools": [call]}, {"text": "done"})
    done = machine.run("run", "go", "--json", "--no-wait", "--model", model, *options)
    (text,) = [line["text"] for line in done.events if line["type"] == "tool_result"]
    return str(text)


@pytest.fixture
def repository(machine: Machine) -> Machine:
    """A workspace that is a repository with uncommitted work."""
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    (machine.workspace / "a.txt").write_text("committed\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run(["git", *who, *words], cwd=machine.workspace, check=True)
    (machine.workspace / "a.txt").write_text("work\n")
    return machine


@pytest.mark.slow
def test_mode_is_kept_with_its_session(machine: Machine) -> None:
    text = command_result(machine, "touch made", "--session", "s", "--mode", "plan")
    assert text.startswith("Denied: plan mode: ")
    assert command_result(machine, "touch made", "--session", "s").startswith("Denied: plan mode: ")
    assert command_result(machine, "touch made", "--session", "s", "--mode", "ask").startswith(
        "Denied: it may change something, so it needs a yes (mode ask)"
    )
    assert not (machine.workspace / "made").exists()
    assert machine.run("run", "go", "--mode", "fast").code == 2


@pytest.mark.slow
def test_destructive_command_with_checkpoint_runs_and_can_be_rewound(repository: Machine) -> None:
    machine = repository
    options = ("--no-input", "--session", "s")
    assert command_result(machine, "git checkout -- .", *options).endswith("[exit code 0]")
    assert (machine.workspace / "a.txt").read_text() == "committed\n"
    listed = machine.run("run", "/rewind", "--session", "s").out
    newest = listed.splitlines()[1].split()[0]
    machine.run("run", f"/rewind {newest}", "--session", "s")
    assert (machine.workspace / "a.txt").read_text() == "work\n"
    told_of = command_result(machine, "git reset --hard HEAD~1", *options)
    assert told_of.startswith("Denied: ")
    assert "no one can approve it" in told_of


@pytest.mark.slow
def test_destructive_command_without_checkpoint_or_person_is_denied(repository: Machine) -> None:
    repository.config("plugins: {checkpoints: false}\n")
    assert command_result(repository, "git checkout -- .", "--no-input").startswith("Denied: ")
    assert (repository.workspace / "a.txt").read_text() == "work\n"


@pytest.mark.slow
@pytest.mark.skipif(found().method is Method.NONE, reason="no sandbox works here")
def test_yolo_runs_in_the_sandbox(machine: Machine) -> None:
    command = "echo $HOME; sudo -n true; rm -rf ./*"
    text = command_result(machine, command, "--no-input", "--mode", "yolo")
    assert "[exit code" in text
    assert str(machine.home) not in text.splitlines()[0]
    denied = command_result(machine, "mkfs.ext4 /dev/sda", "--no-input", "--mode", "yolo")
    assert denied.startswith("Denied: ")


@pytest.mark.slow
def test_replacing_a_file_outside_workspace_needs_person_or_checkpoint(
    machine: Machine, tmp_path: Path
) -> None:
    other = tmp_path / "srv"
    other.mkdir()
    (other / "notes.txt").write_text("old\n")
    roots = f"paths: {{allowed_roots: [{other}]}}\n"
    call = {"name": "write_file", "arguments": {"path": f"{other}/notes.txt", "content": "new\n"}}
    model = machine.script({"tools": [call]}, {"text": "done"})
    machine.config(roots + "plugins: {checkpoints: false}\n")
    refused = machine.run("run", "go", "--no-input", "--model", model)
    assert (
        f"replaces '{other}/notes.txt' outside the workspace; no one can approve it" in refused.err
    )
    assert (other / "notes.txt").read_text() == "old\n"
    machine.config(roots)
    machine.run("run", "go", "--no-input", "--session", "s", "--model", model)
    assert (other / "notes.txt").read_text() == "new\n"
    for line in machine.run("run", "/rewind", "--session", "s").out.splitlines()[1:]:
        machine.run("run", f"/rewind {line.split()[0]}", "--session", "s")
    assert (other / "notes.txt").read_text() == "old\n"
