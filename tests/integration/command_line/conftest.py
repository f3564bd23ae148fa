"""A fresh machine on which packages add commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.machine import Machine
from support.site_packages import Site


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with a home of its own."""
    (tmp_path / "work").mkdir()
    made = Machine(tmp_path / "home", tmp_path / "work")
    made.cold = True  # a new process for each command, which sees the new packages
    return made


@pytest.fixture
def site(machine: Machine, tmp_path: Path) -> Site:
    """The packages of the machine, after what is on its path already."""
    made = Site(tmp_path / "site")
    inherited = machine.environment().get("PYTHONPATH")
    machine.env["PYTHONPATH"] = f"{inherited}:{made.path}" if inherited else str(made.path)
    return made
