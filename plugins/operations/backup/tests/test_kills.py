"""A kill at any step of a restore leaves either the old or the new home, complete."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Home

POINTS = ["restore-unpacked", "restore-ready", "restore-swapped", "restore-set-aside"]


def restore(file: Path, home: Path, point: str = "") -> subprocess.CompletedProcess[str]:
    """``hookline backup restore`` in a process that is killed at a point."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE")}
    env |= {"HOOKLINE_HOME": str(home)} | ({"HOOKLINE_CRASH_AT": point} if point else {})
    words = [sys.executable, "-m", "hookline", "backup", "restore", str(file)]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_killed_restore_leaves_a_complete_home(
    home: Home, point: str, homes: Callable[[str], Home]
) -> None:
    home.run("create")
    file = home.newest()
    home.say("second")
    home.close()
    kept = homes("kept").folder.parent.parent / file.name
    kept.write_bytes(file.read_bytes())
    both = (["first", "answer 0"], ["first", "answer 0", "second", "answer 1"])

    killed = restore(kept, home.folder, point)
    assert killed.returncode == -9, killed.stderr
    assert home.words() in both
    assert home.words() == both[POINTS.index(point) < 2]

    done = restore(kept, home.folder)
    assert done.returncode == 0, done.stderr
    assert home.words() == both[0]
    beside = sorted(path.name for path in home.folder.parent.iterdir())
    assert not [name for name in beside if ".restoring" in name]
    assert any(one.words() == both[1] for one in map(homes, beside) if one.folder != home.folder)
    assert not (home.folder / ".restoring").exists()
