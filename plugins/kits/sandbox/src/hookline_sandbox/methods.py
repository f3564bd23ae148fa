"""Which way of sandboxing works on this machine: tried once, not guessed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from functools import cache

_PROBE_SECONDS = 2


class Method(Enum):
    """What keeps a program apart."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "Landlock"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Found:
    """The best way that works; ``why`` says why no better one does, ``fix`` what to do about it."""

    method: Method
    why: str = ""
    fix: str = ""


@cache
def found() -> Found:
    """The best way that works here. Tried with programs that do nothing (up to four seconds)."""
    if sys.platform != "linux":
        why = f"there is no sandbox for {sys.platform}"
        return Found(Method.NONE, why, "run Hookline on Linux, in a virtual machine for instance")
    why, fix = _bubblewrap()
    if not why:
        return Found(Method.BUBBLEWRAP)
    missing = _landlock()
    if not missing:
        return Found(Method.LANDLOCK, why, fix)
    return Found(Method.NONE, f"{why}, and {missing}", fix)


def _bubblewrap() -> tuple[str, str]:
    from .bubblewrap import probe

    if shutil.which("bwrap") is None:
        install = "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`)"
        return "there is no bwrap on this machine's PATH", install
    said = _tried(probe())
    allow = (
        "let users make namespaces (`sysctl kernel.unprivileged_userns_clone=1`, `sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0`; in a container, a security profile that "
        "permits it)"
    )
    return (f"bubblewrap does not work here: {said}", allow) if said else ("", "")


def _landlock() -> str:
    from .confinement import probe

    said = _tried(probe())
    return f"Landlock does not work here: {said}" if said else ""


def _tried(argv: list[str]) -> str:
    """What the command line said when it failed; empty if it worked."""
    try:
        done = subprocess.run(
            argv, capture_output=True, timeout=_PROBE_SECONDS, text=True, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if not done.returncode:
        return ""
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
