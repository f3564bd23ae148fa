"""Folders that could not be saved in time or size; they are skipped for a day."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from .config import CheckpointsConfig
from .folder_state import private_folder, replace_file

SKIP_SECONDS = 86_400.0
"""Seconds for which a folder is skipped."""


class SkippedFolders:
    """Marks next to the folders' states, ``KEY/given_up.json`` below ``root``."""

    def __init__(self, root: Path, config: CheckpointsConfig) -> None:
        self._root = root
        # After a change of these limits a folder is tried again.
        self._limits = [config.max_files, config.max_store_mb, config.timeout_seconds]
        self._limits += [*config.exclude, *config.keep]  # type: ignore[list-item]

    def is_skipped(self, key: str, now: float) -> bool:
        """Whether the folder is skipped at ``now`` (Unix time in seconds)."""
        with suppress(OSError, ValueError, TypeError):
            at, limits = json.loads(self._path(key).read_bytes())
            return bool(0 <= now - at < SKIP_SECONDS and limits == self._limits)
        return False

    def add(self, key: str, now: float) -> None:
        """Skip a folder from now on. Raises ``OSError``."""
        path = self._path(key)
        private_folder(path.parent)
        replace_file(path, json.dumps([now, self._limits]).encode("ascii"))

    def _path(self, key: str) -> Path:
        return self._root / key / "given_up.json"
