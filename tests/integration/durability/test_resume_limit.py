"""A turn that kills every process that resumes it is given up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline.turn.resume import MAX_RESUMES, RESUMED_TOO_OFTEN
from support.machine import Machine


@pytest.mark.slow
def test_turn_resumed_three_times_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    machine = Machine(tmp_path / "home", tmp_path / "work")
    machine.env["HOOKLINE_MODEL"] = machine.script({"text": "hello", "repeat": True})
    machine.env["HOOKLINE_CRASH_AT"] = "before-model"
    for _ in range(1 + MAX_RESUMES):
        assert machine.run("run", "hi", "--session", "one").code == -9
    del machine.env["HOOKLINE_CRASH_AT"]
    done = machine.run("run", "still there?", "--session", "one")
    assert (done.code, done.out.splitlines()[-1]) == (0, "hello"), done.err
    exported = machine.run("sessions", "export", "one").out
    assert exported.count(RESUMED_TOO_OFTEN) == 1
