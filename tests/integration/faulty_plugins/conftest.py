"""A fresh machine for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.machine import Machine
from support.site_packages import Site


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose model answers ``hello`` to every message."""
    (tmp_path / "work").mkdir()
    made = Machine(tmp_path / "home", tmp_path / "work")
    made.env["HOOKLINE_MODEL"] = made.script({"text": "hello", "repeat": True})
    return made


@pytest.fixture
def site(machine: Machine, tmp_path: Path) -> Site:
    """Dists of the machine, after what is on its path already."""
    made = Site(tmp_path / "site")
    inherited = machine.environment().get("PYTHONPATH")
    machine.env["PYTHONPATH"] = f"{inherited}:{made.path}" if inherited else str(made.path)
    return made
