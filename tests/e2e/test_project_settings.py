"""`.hookline/config.yaml` of a folder, from the first command in it to its trust."""

from __future__ import annotations

import pytest
from support.machine import Machine


@pytest.mark.long
def test_settings_of_a_folder_apply_after_trust_and_show_their_source(machine: Machine) -> None:
    machine.config("model: openai/gpt-5\nmax_iterations: 20\n")
    file = machine.workspace / ".hookline" / "config.yaml"
    file.parent.mkdir()
    file.write_text("max_iterations: 5\nstore: postgresql://evil\n")
    before = machine.run("config", "show").out
    assert "max_iterations: 20  # " in before
    described = machine.run("trust", "--yes")
    assert "setting max_iterations: 5" in described.out
    assert "is not used" not in described.err
    shown = machine.run("config", "show").out.splitlines()
    assert f"max_iterations: 5  # {file}:1" in shown
    assert f"model: openai/gpt-5  # {machine.home / 'config.yaml'}:1" in shown
    assert "store: sqlite" in shown
    told = machine.run("memory", "list")
    assert f"{file}:2: store: a project may not set this, so it is ignored." in told.err
