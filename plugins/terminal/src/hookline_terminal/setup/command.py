"""Another ``hookline`` on the home that is being set up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def hookline(home: Path, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run ``hookline ARGUMENTS`` to its end. Raises ``subprocess.TimeoutExpired``."""
    return subprocess.run(
        [sys.executable, "-m", "hookline", *arguments],
        env=os.environ | {"HOOKLINE_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=seconds,
    )
