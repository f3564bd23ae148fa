"""Another ``hookline``, on the home that is being set up or on one made for a trial."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def hookline(
    home: Path, *arguments: str, seconds: float, env: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Run ``hookline ARGUMENTS`` to its end. Raises ``subprocess.TimeoutExpired``."""
    return subprocess.run(
        [sys.executable, "-m", "hookline", *arguments],
        env={**env, "HOOKLINE_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=seconds,
    )


@contextmanager
def trial_home(config: str) -> Iterator[Path]:
    """A home with this config.yaml and nothing else, for as long as the block runs."""
    with TemporaryDirectory(prefix="hookline-init-") as folder:
        home = Path(folder)
        (home / "config.yaml").write_text(config, "utf-8")
        yield home
