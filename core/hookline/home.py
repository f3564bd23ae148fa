"""The home folder: finds and creates it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

ACTIVE = "active-profile"
"""Name of the file in a home that holds the current profile."""

removed: dict[str, str] = {}
"""Variables with secrets that this process has removed from its environment."""


def environment() -> dict[str, str]:
    """The environment that this process was started with, including removed secrets."""
    return {**removed, **os.environ}


def find_home() -> Path:
    """Return ``HOOKLINE_HOME``, which ``--home`` sets, or else ``~/.hookline``."""
    return Path(os.environ.get("HOOKLINE_HOME") or "~/.hookline").expanduser().absolute()


def choose_profile(name: str) -> None:
    """Use a profile as this process's home: ``name``, or else the one in ``active-profile``.

    ``default`` is the home itself. Child processes use the same profile. Raises ``LookupError`` if
    the profile does not exist.
    """
    if not name and "HOOKLINE_PROFILE" in os.environ:
        return  # the parent process has chosen it
    base = find_home()
    with suppress(OSError):
        name = name or (base / ACTIVE).read_text("utf-8").strip()
    if not name:
        return
    home = base if name == "default" else base / "profiles" / name
    if Path(name).name != name or not home.is_dir():
        raise LookupError(
            f"unknown profile {name!r} in {base}. `hookline profile list` lists them, "
            "`hookline profile create NAME` creates one, "
            "`hookline profile use default` switches back to the home itself"
        )
    os.environ["HOOKLINE_HOME"], os.environ["HOOKLINE_PROFILE"] = str(home), name


def make_home(home: Path) -> None:
    """Create the folder with mode 0700."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
