"""Runs ``hookline`` as a process, on the home being set up or on a temporary one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def run_hookline(
    home: Path, *arguments: str, timeout: float, env: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Run ``hookline ARGUMENTS`` for at most ``timeout`` seconds.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    return subprocess.run(
        [sys.executable, "-m", "hookline", *arguments],
        env={**env, "HOOKLINE_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
    )


@contextmanager
def trial_home(config: str) -> Iterator[Path]:
    """Make a temporary home with this config.yaml and nothing else."""
    with TemporaryDirectory(prefix="hookline-init-") as folder:
        home = Path(folder)
        (home / "config.yaml").write_text(config, "utf-8")
        yield home
