"""The private folders of programs, after kills of the processes that made them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ONE = """
import sys
from hookline_sandbox.private import PrivateFolders
folders = PrivateFolders(1)
print(folders.folder("a"), flush=True)
sys.stdin.read()
folders.close()
"""


def start(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with a pair of folders that look as if they were an hour old."""
    process = subprocess.Popen(
        [sys.executable, "-c", ONE],
        env=os.environ | {"TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    made = Path(process.stdout.readline().strip())
    assert made.parent == folder
    old = made.stat().st_mtime - 3600
    os.utime(made, (old, old))
    return process, made


@pytest.mark.long
def test_folders_of_killed_process_are_removed_and_of_living_one_kept(tmp_path: Path) -> None:
    alive, kept = start(tmp_path)
    killed, left = start(tmp_path)
    (left / "tmp" / "file").write_text("x")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    foreign = tmp_path / "hookline-sandbox-other"  # of an unknown owner
    foreign.mkdir()
    last, own = start(tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == {kept.name, own.name, foreign.name}
    for process in (alive, last):
        process.communicate("")
    assert [one.name for one in tmp_path.iterdir()] == [foreign.name]
