"""The team's skills on disk, ``NAME@SHA/NAME/…``, verified against their signed hashes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from hookline_hookspecs import crash
from hookline_teamskills import combined_digest, digests

from .. import safe_files
from ..history import snapshot

RETENTION_SECONDS = 7 * 86_400.0
"""How long a version stays after it was last loaded: a session may still use its files."""


class TeamCache:
    """The folder that holds the loaded versions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder_of(self, name: str, files: Mapping[str, str]) -> Path:
        """The folder of a version with these files (path to SHA-256), whether it exists or not."""
        return self._folder / f"{name}@{combined_digest(files)[:16]}"

    def holds(self, name: str, files: Mapping[str, str]) -> bool:
        """True if the version is on disk exactly as it was signed."""
        with suppress(OSError, ValueError):
            return digests(snapshot(self.folder_of(name, files) / name)) == dict(files)
        return False

    def put(self, name: str, files: Mapping[str, bytes]) -> None:
        """Place a version on disk in one step. Raises ``OSError`` and ``BadPath``."""
        place = self.folder_of(name, digests(files))
        staging = self._folder / f".{uuid4().hex}"
        (staging / name).mkdir(mode=0o700, parents=True)
        try:
            for path, data in files.items():
                safe_files.write_bytes(staging / name, path, data)
            crash.point("team-before-place")
            if place.exists():  # changed on disk
                place.rename(self._folder / f".{uuid4().hex}")
            with suppress(OSError):  # another process was first
                staging.rename(place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def clear(self, used: Collection[Path]) -> None:
        """Remove versions not loaded for a while, and leftovers of killed processes."""
        with suppress(OSError):
            for place in list(self._folder.iterdir()):
                with suppress(OSError):
                    if place in used:
                        place.touch()
                    elif place.stat().st_mtime < time.time() - RETENTION_SECONDS:
                        shutil.rmtree(place, ignore_errors=True)
