"""Private folders that stand in for ``/tmp`` and the person's home, one pair for each key."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_MIB = 1_048_576
_MOST_ENTRIES = 100_000


class PrivateFolders:
    """Pairs of folders, kept until :meth:`close`. ``limit_mb``: MiB that a pair may hold."""

    def __init__(self, limit_mb: int) -> None:
        self._limit = limit_mb * _MIB
        self._folders: dict[str, Path] = {}

    def folder(self, key: str) -> Path:
        """The folder with ``tmp`` and ``home`` of ``key``, made at first use, mode 0700."""
        if key not in self._folders:
            made = Path(tempfile.mkdtemp(prefix="hookline-sandbox-"))
            for name in ("tmp", "home"):
                (made / name).mkdir()
            self._folders[key] = made
        return self._folders[key]

    def emptied(self, key: str) -> bool:
        """Empty the pair of ``key`` if it holds more than the limit; True if it did."""
        folder = self._folders.get(key)
        if folder is None or not _is_over(folder, self._limit):
            return False
        for name in ("tmp", "home"):
            for entry in list(os.scandir(folder / name)):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Remove all of them."""
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._folders.clear()


def _is_over(folder: Path, limit: int) -> bool:
    """True if the files take up more than ``limit`` bytes, or are too many to be counted."""
    total = entries = 0
    pending = [str(folder)]
    while pending:
        try:
            found = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in found:
            entries += 1
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                total += entry.stat(follow_symlinks=False).st_blocks * 512
        if total > limit or entries > _MOST_ENTRIES:
            return True
    return False
