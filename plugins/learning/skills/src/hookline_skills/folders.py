"""Skill folders: created and removed in one step, moved into the archive and out of it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from . import safe_files
from .records import MARKER_FILE

ARCHIVE_FOLDER = ".archived"
STAGING_FOLDER = ".staging"
"""Where a new folder is filled before it is moved to its place."""
QUARANTINE_FOLDER = ".quarantine"
"""Where a source is downloaded before it is checked."""
STALE_SECONDS = 3600.0
"""Age after which leftovers of a killed process are removed."""


class SkillNotFound(LookupError):
    """A skill or version does not exist, or another skill is in the way."""


def place_folder(root: Path, name: str, files: Mapping[str, bytes], marker: str = "") -> None:
    """Create the folder of a skill with all its files in one step.

    Args:
        marker: content of the marker file, for a skill that the agent made.

    Raises:
        OSError: it could not be written, or the folder exists.
    """
    staging = root / STAGING_FOLDER / uuid4().hex
    staging.mkdir(parents=True)
    try:
        for path, data in files.items():
            safe_files.write_bytes(staging, path, data)
        if marker:
            safe_files.write_bytes(staging, MARKER_FILE, marker.encode("ascii"))
        staging.rename(root / name)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def remove_folder(root: Path, name: str) -> None:
    """Move a skill's folder away in one step, then delete it. Raises ``OSError``."""
    removed = root / STAGING_FOLDER / uuid4().hex
    removed.parent.mkdir(parents=True, exist_ok=True)
    (root / name).rename(removed)
    shutil.rmtree(removed, ignore_errors=True)


def archive_folder(root: Path, name: str) -> Path:
    """Move a skill into the archive and return its new path.

    An archived skill of the same name is renamed to ``NAME@NUMBER``.

    Raises:
        OSError: it could not be moved.
    """
    folder = root / ARCHIVE_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    if os.path.lexists(target):
        numbers = range(1, 10_000)
        older = next(p for n in numbers if not os.path.lexists(p := folder / f"{name}@{n}"))
        target.rename(older)
    (root / name).rename(target)
    return target


def restore_folder(root: Path, name: str) -> None:
    """Move a skill out of the archive.

    Raises:
        SkillNotFound: it is not in the archive, or a skill of this name exists.
        OSError: it could not be moved.
    """
    source = root / ARCHIVE_FOLDER / name
    target = root / name.partition("@")[0]
    if os.path.lexists(target):
        raise SkillNotFound(f"a skill {target.name} already exists; archive it first")
    if Path(name).name != name or not source.is_dir():
        raise SkillNotFound(f"no archived skill {name!r}")
    source.rename(target)


def archived_names(root: Path) -> list[str]:
    """The names in the archive, sorted."""
    with suppress(OSError):
        return sorted(entry.name for entry in (root / ARCHIVE_FOLDER).iterdir() if entry.is_dir())
    return []


def remove_stale_temporary(root: Path) -> None:
    """Remove what killed processes left in the staging and quarantine folders."""
    for name in (STAGING_FOLDER, QUARANTINE_FOLDER):
        with suppress(OSError):
            for leftover in (root / name).iterdir():
                if time.time() - leftover.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(leftover, ignore_errors=True)
