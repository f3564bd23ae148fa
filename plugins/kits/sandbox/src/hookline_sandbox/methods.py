"""Finds the sandboxing method that works on this machine, by trying them once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from functools import cache

from hookline_hookspecs.own_programs import own_program

from .namespace_limits import how_to_permit_namespaces

_PROBE_SECONDS = 2


class Method(Enum):
    """What isolates a program."""

    BUBBLEWRAP = "bubblewrap"
    NAMESPACES = "user namespaces"
    LANDLOCK = "Landlock"
    SEATBELT = "sandbox-exec"
    NONE = "none"

    @property
    def has_namespaces(self) -> bool:
        """Whether programs have their own mounts, processes and network."""
        return self in (Method.BUBBLEWRAP, Method.NAMESPACES)

    @property
    def has_network(self) -> bool:
        """Whether programs can have a guarded network."""
        supervised = self is Method.LANDLOCK and not supervision_failure()
        return self.has_namespaces or supervised or self is Method.SEATBELT


@dataclass(frozen=True, slots=True)
class Found:
    """The best method that works; ``why`` no better one does, and how to ``fix`` that."""

    method: Method
    why: str = ""
    fix: str = ""


_SEATBELT = Found(Method.SEATBELT)


@cache
def found() -> Found:
    """Return the best method that works here; the trial takes up to six seconds."""
    if sys.platform == "darwin":
        from .seatbelt import probe

        missing = _failure(probe())
        why = f"sandbox-exec does not work here: {missing}"
        return Found(Method.NONE, why, "run Hookline on Linux") if missing else _SEATBELT
    if sys.platform != "linux":
        why = f"there is no sandbox for {sys.platform}"
        return Found(Method.NONE, why, "run Hookline on Linux, for example in a virtual machine")
    why, fix = _bubblewrap()
    if not why:
        return Found(Method.BUBBLEWRAP)
    if not namespaces_failure():
        return Found(Method.NAMESPACES, why, fix)
    missing = _landlock()
    if not missing:
        return Found(Method.LANDLOCK, why, fix)
    return Found(Method.NONE, f"{why}, and {missing}", fix)


def _bubblewrap() -> tuple[str, str]:
    from .bubblewrap import probe

    if own_program("bwrap") is None:
        install = "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`)"
        return "there is no bwrap on this machine's PATH", install
    reason = _failure(probe())
    if not reason:
        return "", ""
    return f"bubblewrap does not work here: {reason}", how_to_permit_namespaces()


def namespaces_failure() -> str:
    """Return why namespaces cannot be made without bubblewrap; empty if they can."""
    from .namespaces import probe

    return _failure(probe())


@cache
def supervision_failure() -> str:
    """Return why the network cannot be supervised under Landlock; empty if it can."""
    from .confinement import probe_supervision

    return _failure(probe_supervision())


def _landlock() -> str:
    from .confinement import probe

    reason = _failure(probe())
    return f"Landlock does not work here: {reason}" if reason else ""


def _failure(argv: list[str]) -> str:
    """Return why the command line failed; empty if it succeeded."""
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
