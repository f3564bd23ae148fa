"""A fresh machine for each test, with model servers."""

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
def hello_machine(machine: Machine) -> Machine:
    """A machine whose model answers ``hello`` to every message."""
    machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello", "repeat": True})
    return machine


@pytest.fixture
def all_plugins_load() -> None:
    """Fail, with the reason, if a plugin that the test needs cannot be loaded."""
    for name in ("files", "shell", "terminal", "demo"):
        entry_points(group="hookline.plugins")[name].load()
