"""Checks the result of a run: runs the project's tests, and lists the changes."""

from __future__ import annotations

import difflib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .process import started
from .stage import Stage

TEST_TIMEOUT = 30.0
"""Seconds that the sample's tests may take; they need less than one."""


def failing_tests(stage: Stage) -> str | None:
    """Run the project's tests; return None if they pass, else the problem."""
    tests = [sys.executable, "-m", "unittest"]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    try:
        with started(stage, tests, {}, **pipes) as process:
            output = process.communicate(timeout=TEST_TIMEOUT)[1].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return f"the project's tests did not end within {TEST_TIMEOUT:g} s"
    if process.returncode == 0 and "OK" in output:
        return None
    lines = output.strip().splitlines() or [f"exit code {process.returncode}"]
    return f"the project's tests do not pass: {lines[-1]}"


def diff(stage: Stage) -> list[str]:
    """The unified diff from the packaged sample to the copy."""
    now = _texts(stage.project)
    lines: list[str] = []
    for name in sorted({*stage.sample, *now}):
        before, after = stage.sample.get(name, ""), now.get(name, "")
        lines += difflib.unified_diff(
            before.splitlines(),
            after.splitlines(),
            f"a/{name}" if name in stage.sample else "/dev/null",
            f"b/{name}" if name in now else "/dev/null",
            lineterm="",
        )
    return lines


def _texts(folder: Path) -> Mapping[str, str]:
    """The files below a folder by relative path, without compiled Python files."""
    return {
        file.relative_to(folder).as_posix(): file.read_text("utf-8", "replace")
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
