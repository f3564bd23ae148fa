"""Merges two changes of one version: file by file, lines by ``git merge-file``."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .git import GitFailed, git


@dataclass(frozen=True, slots=True)
class MergeResult:
    """``files`` is content by path. ``conflicts`` are the paths that a person must merge; ``files``
    has both sides of these with conflict markers, if both exist."""

    files: dict[str, bytes]
    conflicts: tuple[str, ...]


def merge(
    base: Mapping[str, bytes], ours: Mapping[str, bytes], theirs: Mapping[str, bytes]
) -> MergeResult:
    """Merge the changes from ``base`` to ``ours`` and to ``theirs``. Raises ``GitFailed``."""
    files: dict[str, bytes] = {}
    conflicts: list[str] = []
    for path in sorted({*ours, *theirs}):
        was, one, other = base.get(path), ours.get(path), theirs.get(path)
        if one == other or was == other:
            merged = one
        elif was == one:
            merged = other
        elif one is None or other is None:
            conflicts.append(path)
            merged = one or other
        else:
            merged, clean = _merge_lines(was or b"", one, other)
            if not clean or was is None:
                conflicts.append(path)
        if merged is not None:
            files[path] = merged
    return MergeResult(files, tuple(conflicts))


def _merge_lines(was: bytes, one: bytes, other: bytes) -> tuple[bytes, bool]:
    with tempfile.TemporaryDirectory(prefix="hookline-merge-") as folder:
        sides = {"approved": one, "base": was, "proposed": other}
        for name, data in sides.items():
            (Path(folder) / name).write_bytes(data)
        labels = [part for name in sides for part in ("-L", name)]
        command = ("merge-file", "-p", *labels, *(str(Path(folder) / name) for name in sides))
        try:
            return git(Path(folder) / "git", *command), True
        except GitFailed:  # its exit code is the number of conflicts
            return git(Path(folder) / "git", *command, codes=tuple(range(1, 128))), False
