"""A fresh computer for each test; and the tests that core does not pass yet, with why."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from e2e.machine import Machine
from fakes.site import Site


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A computer whose configured model answers ``hello`` to whatever it is told."""
    (tmp_path / "work").mkdir()
    made = Machine(tmp_path / "home", tmp_path / "work")
    made.env["HOOKLINE_MODEL"] = made.script({"text": "hello", "repeat": True})
    return made


@pytest.fixture
def site(machine: Machine, tmp_path: Path) -> Site:
    """Dists of the machine; they come after what is on its path already."""
    made = Site(tmp_path / "site")
    inherited = machine.environment().get("PYTHONPATH")
    machine.env["PYTHONPATH"] = f"{inherited}:{made.path}" if inherited else str(made.path)
    return made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the failures that ``open_faults.yaml`` lists, and no others."""
    folder = Path(__file__).parent
    faults = yaml.safe_load((folder / "open_faults.yaml").read_text("utf-8")) or {}
    for item in items:
        if item.path.parent != folder or not isinstance(item, pytest.Function):
            continue
        name, case = f"{item.path.name}::{item.originalname}", item.name.partition("[")[2][:-1]
        for fault in faults.values():
            cases = fault["tests"].get(name)
            if cases is not None and (not cases or case in cases):
                item.add_marker(pytest.mark.xfail(strict=True, reason=fault["reason"]))
