"""Furnishes the private home of sandboxed programs: the person's git identity and their tools."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from hookline_hookspecs.own_programs import own_program

_GIT_TIMEOUT = 5
"""Seconds."""
_IDENTITY = ("user.name", "user.email")


def furnish(home: Path, tools: Iterable[Path]) -> None:
    """Write the person's name and mail to ``home/.gitconfig``, and link ``tools`` into ``home``.

    tools: folders that are visible inside. Those in the person's home are linked at the same
    place, because programs look for them there (``~/.rustup``). What already exists stays.
    """
    _write_identity(home / ".gitconfig")
    person = Path.home()
    for tool in tools:
        if not tool.is_relative_to(person) or tool == person:
            continue
        link = home / tool.relative_to(person)
        with suppress(OSError):  # exists, or a link above it leads elsewhere
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(tool)


def _write_identity(file: Path) -> None:
    git = own_program("git")
    if git is None or os.path.lexists(file):
        return
    for name, value in _identity(git, str(Path.home()), os.environ.get("XDG_CONFIG_HOME", "")):
        _git(git, "config", "--file", str(file), name, value)


@lru_cache(maxsize=4)
def _identity(git: str, person: str, xdg: str) -> tuple[tuple[str, str], ...]:
    """Return name and mail from the person's own git settings (``~/.gitconfig`` and XDG's)."""
    found = ((name, _git(git, "config", "--global", "--get", name)) for name in _IDENTITY)
    return tuple((name, value) for name, value in found if value)


def _git(git: str, *arguments: str) -> str:
    """Return what git prints; empty if it fails."""
    try:
        done = subprocess.run(
            [git, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_TIMEOUT,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.rstrip("\n") if done.returncode == 0 else ""
