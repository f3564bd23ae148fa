"""The home folder: where it is and how it is made."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

ACTIVE = "active-profile"
"""The file in a home that names the profile in use."""

removed: dict[str, str] = {}
"""Variables with secrets that this process has removed from its environment."""


def environment() -> dict[str, str]:
    """The environment that this process was started with."""
    return {**removed, **os.environ}


def find_home() -> Path:
    """``HOOKLINE_HOME``, which ``--home`` sets, else ``~/.hookline``."""
    return Path(os.environ.get("HOOKLINE_HOME") or "~/.hookline").expanduser().absolute()


def choose_profile(name: str = "") -> None:
    """Make a profile this process's home: ``name``, else that of the file ``active-profile``.

    ``default`` is the home itself. What this process starts gets the same. Raises ``LookupError``
    with a sentence if there is no such profile.
    """
    if not name and "HOOKLINE_PROFILE" in os.environ:
        return  # chosen by the process that started this one
    base = find_home()
    with suppress(OSError):
        name = name or (base / ACTIVE).read_text("utf-8").strip()
    if not name:
        return
    home = base if name == "default" else base / "profiles" / name
    if Path(name).name != name or not home.is_dir():
        made = "`hookline profile list` shows them, `hookline profile create NAME` makes one"
        raise LookupError(
            f"there is no profile {name!r} in {base}; {made}, "
            "`hookline profile use default` leaves them"
        )
    os.environ["HOOKLINE_HOME"], os.environ["HOOKLINE_PROFILE"] = str(home), name


def make_home(home: Path) -> None:
    """Make the folder, readable by its owner alone."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
