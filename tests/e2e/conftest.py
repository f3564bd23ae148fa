"""A fresh computer for each test, and models on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .machine import Machine, standing


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "work").mkdir()
    return Machine(tmp_path / "home", tmp_path / "work")


@pytest.fixture
def talking(machine: Machine) -> Machine:
    """A machine whose configured model answers ``hello`` to whatever it is told."""
    machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello", "repeat": True})
    return machine


@pytest.fixture
def whole() -> None:
    """Skip where a standard plugin of this repository has no class yet."""
    absent = [name for name in ("files", "shell", "terminal", "demo") if not standing(name)]
    if absent:
        pytest.skip(f"not built yet: {', '.join(absent)}")
