"""The team's skills on this disk: ``NAME@SHA/NAME/…``, each compared with its signed hashes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from hookline_hookspecs import crash
from hookline_teamskills import digest_of, digests

from .. import safely
from ..history import snapshot

KEPT = 7 * 86_400.0
"""Seconds for which a version stays after it was last loaded: a session may be using its files."""


class Cache:
    """The folder of the loaded versions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place_of(self, name: str, files: Mapping[str, str]) -> Path:
        """Where a version with these files (path to SHA-256) is or would be."""
        return self._folder / f"{name}@{digest_of(files)[:16]}"

    def holds(self, name: str, files: Mapping[str, str]) -> bool:
        """Whether it is there, exactly as it was signed."""
        with suppress(OSError, ValueError):
            return digests(snapshot(self.place_of(name, files) / name)) == dict(files)
        return False

    def put(self, name: str, files: Mapping[str, bytes]) -> None:
        """Place a version, complete from the first moment on. Raises ``OSError`` and
        ``BadPath``."""
        place = self.place_of(name, digests(files))
        staging = self._folder / f".{uuid4().hex}"
        (staging / name).mkdir(mode=0o700, parents=True)
        try:
            for path, data in files.items():
                safely.write_bytes(staging / name, path, data)
            crash.point("team-before-place")
            if place.exists():  # it was changed on disk
                place.rename(self._folder / f".{uuid4().hex}")
            with suppress(OSError):  # another process was first
                staging.rename(place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def clear(self, used: Collection[Path]) -> None:
        """Remove what has not been loaded for a while, and what killed processes left."""
        with suppress(OSError):
            for place in list(self._folder.iterdir()):
                with suppress(OSError):
                    if place in used:
                        place.touch()
                    elif place.stat().st_mtime < time.time() - KEPT:
                        shutil.rmtree(place, ignore_errors=True)
