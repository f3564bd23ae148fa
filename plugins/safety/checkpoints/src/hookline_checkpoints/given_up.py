"""Folders of which no snapshot can be taken, remembered for a day, so that nobody waits twice."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from .config import CheckpointsConfig
from .state import private_folder, replace_file

SECONDS = 86_400.0
"""How long a folder is not tried again."""


class GivenUp:
    """Notes beside the folders' states, ``KEY/given_up.json`` below ``root``."""

    def __init__(self, root: Path, config: CheckpointsConfig) -> None:
        self._root = root
        # With other limits it is tried again.
        self._limits = [config.max_files, config.max_store_mb, config.timeout_seconds]
        self._limits += [*config.exclude, *config.keep]  # type: ignore[list-item]

    def is_noted(self, key: str, now: float) -> bool:
        """True if the folder was given up less than a day before ``now`` (Unix time)."""
        with suppress(OSError, ValueError, TypeError):
            at, limits = json.loads(self._path(key).read_bytes())
            return bool(0 <= now - at < SECONDS and limits == self._limits)
        return False

    def note(self, key: str, now: float) -> None:
        """Give a folder up. Raises ``OSError``."""
        path = self._path(key)
        private_folder(path.parent)
        replace_file(path, json.dumps([now, self._limits]).encode("ascii"))

    def _path(self, key: str) -> Path:
        return self._root / key / "given_up.json"
