"""A fresh computer for each test, and models on it."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from support.machine import Machine


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
    """Fail where a plugin that the test counts on cannot be loaded, with the reason."""
    for name in ("files", "shell", "terminal", "demo"):
        entry_points(group="hookline.plugins")[name].load()
