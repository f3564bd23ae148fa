"""Fixtures of the core tests: an adjustable clock, and Python in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.processes import store_environment


class Clock:
    """The clock for TTLs and idle times; tests move it forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def forward(self, *, days: float = 0, hours: float = 0) -> None:
        self.ahead += days * 86400 + hours * 3600

    def now(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("hookline.clock.now", made.now)
    return made


Python = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Run a script with its own home and cache; ``site`` is added to its path."""

    def run(
        body: str, *arguments: str, site: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HOOKLINE_", "PYTHON"))}
        variables |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        if site is not None:
            variables |= {"PYTHONPATH": str(site)}
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(body), *arguments],
            env=kept | store_environment() | variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
