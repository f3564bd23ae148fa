"""Finds folders of programs outside the system's, from ``PATH`` and version managers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from .tables import tables
from .view import within


def programs(environment: Mapping[str, str], workspace: Path, home: Path) -> tuple[Path, ...]:
    """Return folders of ``PATH``, of version managers and of this Python, to show read-only.

    Left out are folders inside the system's or the workspace, and folders that contain the
    workspace, the person's home or Hookline's ``home``.
    """
    named = tuple(environment.get(name, "") for name in tables()["tool_variables"])
    return _shown(environment.get("PATH", ""), named, workspace, home, Path.home())


@lru_cache(maxsize=64)
def _shown(
    path: str, named: tuple[str, ...], workspace: Path, home: Path, person: Path
) -> tuple[Path, ...]:
    system = [Path(name) for name in tables()["system"]]
    found: list[Path] = []
    for folder in sorted(set(_candidates(path, named)), key=lambda place: len(place.parts)):
        if within(folder, [*system, workspace, home, *found]) or not _is_folder(folder):
            continue
        if not any(within(place, [folder]) for place in (workspace, home, person)):
            found.append(folder)
    return tuple(found)


def _is_folder(place: Path) -> bool:
    return os.path.isdir(place)  # noqa: PTH112 - False without permission


def _is_environment(place: Path) -> bool:
    return os.path.isfile(place / "pyvenv.cfg")  # noqa: PTH113 - False without permission


def _candidates(path: str, named: tuple[str, ...]) -> Iterator[Path]:
    """Yield real paths of folders that might be shown."""
    entries = [Path(entry) for entry in path.split(os.pathsep)]
    # A version manager's shims run programs beside them; Python needs its whole environment.
    around = [one.parent for one in entries if one.name == "shims" or _is_environment(one.parent)]
    tools = [Path(entry).expanduser() for entry in tables()["tools"]]
    own = [Path(sys.prefix), Path(sys.base_prefix)]
    for folder in (*entries, *around, *map(Path, named), *tools, *own):
        if folder.is_absolute():
            yield Path(os.path.realpath(folder))
