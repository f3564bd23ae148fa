"""Archives skills that the agent made and nobody uses; they are never deleted."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .library import Library
from .records import Records

ARCHIVE = ".archived"
TEMPORARY = (".staging", ".quarantine")
STALE = 3600.0
"""Seconds after which what a dead process left in these folders is removed."""
DAY = 86_400.0


class NotThere(LookupError):
    """There is no such skill, or one is in the way. A sentence."""


def archive(root: Path, name: str) -> Path:
    """Move a skill into the archive; an older one of this name gets a number. Where it is now.

    Raises:
        OSError: it could not be moved.
    """
    folder = root / ARCHIVE
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    if os.path.lexists(target):
        numbers = range(1, 10_000)
        older = next(p for n in numbers if not os.path.lexists(p := folder / f"{name}@{n}"))
        target.rename(older)
    (root / name).rename(target)
    return target


def bring_back(root: Path, name: str) -> None:
    """Move a skill out of the archive.

    Raises:
        NotThere: it is not in the archive, or there is a skill of this name.
        OSError: it could not be moved.
    """
    source = root / ARCHIVE / name
    target = root / name.partition("@")[0]
    if os.path.lexists(target):
        raise NotThere(f"there is a skill {target.name}; archive it first")
    if Path(name).name != name or not source.is_dir():
        raise NotThere(f"there is no archived skill {name!r}")
    source.rename(target)


def archived(root: Path) -> list[str]:
    """The names in the archive, sorted."""
    with suppress(OSError):
        return sorted(entry.name for entry in (root / ARCHIVE).iterdir() if entry.is_dir())
    return []


async def idle(
    library: Library, records: Records, changed: Mapping[str, float], now: float, days: float
) -> list[str]:
    """The skills that the agent made, that are not pinned, and were not used, made or changed
    (``changed`` tells when, Unix time) for so many days."""
    skills = await asyncio.to_thread(library.skills)
    pins, uses = await records.pins(), await records.uses()
    found = []
    for name, made in (await records.agents(library.root)).items():
        if name not in skills or name in pins:
            continue
        used = uses[name].last if name in uses else None
        newest = max(made, used or 0.0, changed.get(name, 0.0), skills[name].stamp[0] / 1e9)
        if now - newest > days * DAY:
            found.append(name)
    return found


def clear_temporary(root: Path) -> None:
    """Remove what a dead process left half made."""
    for name in TEMPORARY:
        with suppress(OSError):
            for left in (root / name).iterdir():
                if time.time() - left.stat().st_mtime > STALE:
                    shutil.rmtree(left, ignore_errors=True)
