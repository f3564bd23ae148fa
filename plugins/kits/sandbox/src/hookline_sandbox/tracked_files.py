"""Recognises files whose content git has already stored: hiding them would protect nothing.

A covered file that git tracks makes `git add`, `git stash` and `git rebase` fail. A program could
list any file in the index, so the listed blob must also be the file's present content.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hookline_hookspecs.own_programs import own_program

_GIT_TIMEOUT = 5
"""Seconds."""
_MAX_FILE_BYTES = 1_048_576
_OWN_GIT = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
"""Settings of git for Hookline itself: the repository's own may name programs."""
_Stamp = tuple[int, int, int]


class TrackedFiles:
    """Remembers which secret-looking files of a workspace git tracks with their content.

    A file that was tracked stays visible: a program may change it, as any other tracked file.
    """

    def __init__(self) -> None:
        self._tracked: set[str] = set()
        self._other: dict[str, _Stamp] = {}

    def among(self, paths: Sequence[str], workspace: str) -> set[str]:
        """Return those of ``paths`` that git tracks, and of folders their tracked files."""
        asked: dict[str, list[str]] = {}
        for path in paths:
            stamp = _stamp(path)
            if path not in self._tracked and self._other.get(path) != stamp:
                self._other[path] = stamp
                if (repository := _repository(path, workspace)) is not None:
                    asked.setdefault(repository, []).append(path)
        for repository, named in asked.items():
            self._tracked |= _tracked(repository, named)
        folders = tuple(path + os.sep for path in paths)
        return {path for path in self._tracked if path in paths or path.startswith(folders)}


def _stamp(path: str) -> _Stamp:
    try:
        found = os.lstat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def _repository(path: str, workspace: str) -> str | None:
    """Return the folder around ``path`` with ``.git``, up to the workspace."""
    folder = os.path.dirname(path)  # noqa: PTH120
    while len(folder) >= len(workspace):
        if os.path.lexists(folder + "/.git"):
            return folder
        folder = os.path.dirname(folder)  # noqa: PTH120
    return None


def _tracked(repository: str, paths: Sequence[str]) -> set[str]:
    git = own_program("git")
    if git is None:
        return set()
    argv = [git, *_OWN_GIT, "-C", repository, "--literal-pathspecs", "ls-files", "-s", "-z", "--"]
    try:
        done = subprocess.run(
            [*argv, *paths], capture_output=True, timeout=_GIT_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return set()
    found: set[str] = set()
    for entry in os.fsdecode(done.stdout).split("\0"):
        fields, _, name = entry.partition("\t")
        if name and _is_content(Path(repository, name), fields.split()[1]):
            found.add(os.path.join(repository, name))  # noqa: PTH118
    return found


def _is_content(file: Path, blob: str) -> bool:
    """Whether the file's bytes have this object id (gitformat-pack(5))."""
    try:
        state = file.lstat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_FILE_BYTES:
            return False
        data = file.read_bytes()
    except OSError:
        return False
    algorithm = hashlib.sha1 if len(blob) == 40 else hashlib.sha256
    return algorithm(b"blob %d\0" % len(data) + data).hexdigest() == blob
