"""The files below a folder, and the listing of one folder.

Unlike ``Paths.walk``, this never enters ``.git`` and hidden folders, which would use up the time of
a search.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

from hookline_hookspecs import Paths
from hookline_hookspecs.file_names import exact_name, shown_name

SKIPPED_FOLDERS = frozenset({".git"})
"""Folders that are entered only if they are the root."""
SEARCH_TIMEOUT = 30.0
"""Seconds that one glob or grep may take."""


class Deadline:
    """The time at which one search has to stop."""

    def __init__(self, seconds: float = SEARCH_TIMEOUT) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left; 0 or less once the search has to stop."""
        return self._end - time.monotonic()


class FileTree:
    """The files below ``root``, sorted by folder, without folders that are off limits.

    Links to folders are not followed. ``stopped`` is True after a walk that ran out of time.
    """

    def __init__(self, paths: Paths, root: Path, deadline: Deadline) -> None:
        self._paths = paths
        self._root = root
        self._deadline = deadline
        self.stopped = False

    def files(self, *, hidden: bool) -> Iterator[PurePath]:
        """Paths relative to the root; hidden files and folders only if ``hidden``.

        The caller checks that a file may be shown or opened.
        """
        pending = [self._root]
        while pending:
            folder = pending.pop()
            if self._deadline.left <= 0:
                self.stopped = True
                return
            inner = []
            for entry in _sorted_entries(folder):
                if entry.name in SKIPPED_FOLDERS or (entry.name.startswith(".") and not hidden):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if self._paths.check_path(entry.path) is None:
                        inner.append(Path(entry.path))
                elif entry.is_file():
                    yield Path(entry.path).relative_to(self._root)
            pending.extend(reversed(inner))


def list_folder(folder: Path, limit: int) -> str:
    """The entries of ``folder``, sorted: folders with ``/``, links with their target, files
    with their size in bytes."""
    with os.scandir(folder) as unsorted:
        entries = sorted(unsorted, key=lambda entry: entry.name)
    shown = Counter(shown_name(entry.name) for entry in entries)
    lines = [
        _entry_line(entry, shown_name if shown[shown_name(entry.name)] == 1 else exact_name)
        for entry in entries[:limit]
    ]
    if len(entries) > limit:
        lines.append(f"[{limit} of {len(entries)} entries shown; use glob for others]")
    return "\n".join(lines)


def _entry_line(entry: os.DirEntry[str], named: Callable[[str], str]) -> str:
    name = named(entry.name)
    try:
        if entry.is_symlink():
            return f"{name} -> {shown_name(os.readlink(entry.path))}"  # noqa: PTH115 - as written
        if entry.is_dir():
            return f"{name}/"
        status = entry.stat()
    except OSError:
        return name
    if not stat.S_ISREG(status.st_mode):
        return f"{name} (not a regular file)"
    return f"{name}  {status.st_size}"


def _sorted_entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # Unreadable or deleted meanwhile.


def display_path(paths: Paths, real: Path) -> str:
    """``real`` as the model names it: relative to the workspace where it lies inside."""
    for workspace in (paths.workspace, paths.workspace.resolve()):
        if real.is_relative_to(workspace):
            return shown_name(real.relative_to(workspace).as_posix())
    return shown_name(real.as_posix())
