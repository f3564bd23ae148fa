"""Commands start no program that stands in the workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.machine import Machine

COMMANDS = [
    ["plugins", "install", "no-such-thing", "--yes"],
    ["bundles", "add", "git+https://127.0.0.1:9/x", "--yes"],
    ["skills", "install", "git+https://127.0.0.1:9/x", "--yes"],
    ["doctor", "--offline"],
]


@pytest.mark.long
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_start_no_program_of_the_workspace(
    machine: Machine, tmp_path: Path, words: list[str]
) -> None:
    folder = machine.workspace / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("uv", "pip", "git", "bwrap", "rg", "ssh", "python3"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho {name} >> {tmp_path / 'started'}\n")
        program.chmod(0o755)
    machine.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    machine.run(*words)
    assert not (tmp_path / "started").exists()
