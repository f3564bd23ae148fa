"""The home folder: where it is and how it is made."""

from __future__ import annotations

import os
from pathlib import Path


def find_home(option: str | None = None) -> Path:
    """``--home``, else ``HOOKLINE_HOME``, else ``~/.hookline``."""
    chosen = option or os.environ.get("HOOKLINE_HOME") or "~/.hookline"
    return Path(chosen).expanduser().absolute()


def make_home(home: Path) -> None:
    """Make the folder, readable by its owner alone."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
