"""The home folder: where it is and how it is made."""

from __future__ import annotations

import os
from pathlib import Path

removed: dict[str, str] = {}
"""Variables with secrets that this process has removed from its environment."""


def environment() -> dict[str, str]:
    """The environment that this process was started with."""
    return {**removed, **os.environ}


def find_home() -> Path:
    """``HOOKLINE_HOME``, which ``--home`` sets, else ``~/.hookline``."""
    return Path(os.environ.get("HOOKLINE_HOME") or "~/.hookline").expanduser().absolute()


def make_home(home: Path) -> None:
    """Make the folder, readable by its owner alone."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
