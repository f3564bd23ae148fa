"""The files that git tracks in a folder, read from the index without running git.

The settings of a repository can make git run programs.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_ENTRY = struct.Struct(">40x20sH")
_MODE = struct.Struct(">24xI")
_FOLDERS = frozenset({0o160000, 0o040000})
"""Modes of a submodule, and of a folder in a sparse index."""
_EXTENDED = 0x4000
_MAX_INDEX_BYTES = 100_000_000


class UnreadableIndex(Exception):
    """The index cannot be read, so the tracked files are unknown."""


def unsaved(folder: Path, saved: Mapping[str, object], skipped: Iterable[str]) -> bool:
    """Whether ``saved`` lacks a file that git tracks in ``folder``, so that it could be lost.

    ``skipped`` are the paths that are not in the snapshot, including those of repositories. A
    folder that is part of a larger repository is not saved as a whole.
    """
    if not (folder / ".git").exists() and any(
        (above / ".git").exists() for above in folder.parents
    ):
        return True
    found = [path.rstrip("/").rpartition("/")[0] for path in skipped if _is_repository(path)]
    try:
        return any(
            path not in saved and os.path.lexists(folder / path)
            for inside in found
            for path in _tracked(folder, inside)
        )
    except (OSError, ValueError, struct.error, UnreadableIndex):
        return True


def _is_repository(path: str) -> bool:
    return path.rstrip("/").rpartition("/")[2].lower() == ".git"


def _tracked(folder: Path, inside: str) -> Iterator[str]:
    """Return the paths that the repository at ``inside`` tracks, relative to ``folder``."""
    index = _git_folder(folder / inside) / "index"
    if not index.exists():
        return
    if index.stat().st_size > _MAX_INDEX_BYTES:
        raise UnreadableIndex("it is too large")
    for path in _names(index.read_bytes()):
        yield f"{inside}/{path}" if inside else path


def _git_folder(repository: Path) -> Path:
    """Return the path of a repository's index; if ``.git`` is a file, it names the place."""
    place = repository / ".git"
    if place.is_dir():
        return place
    sign, _, named = place.read_text("utf-8").strip().partition(" ")
    if sign != "gitdir:":
        raise UnreadableIndex("it is not a repository")
    return repository / named


def _names(data: bytes) -> Iterator[str]:
    """Return the paths of an index with SHA-1 ids (gitformat-index(5)), versions 2 to 4."""
    sign, version, count = struct.unpack_from(">4sII", data)
    if sign != b"DIRC" or version not in (2, 3, 4):
        raise UnreadableIndex("unknown version of the index file")
    at, name = 12, b""
    for _ in range(count):
        (mode,), (_, flags) = _MODE.unpack_from(data, at), _ENTRY.unpack_from(data, at)
        start = at + _ENTRY.size + (2 if flags & _EXTENDED else 0)
        if version == 4:
            cut, start = _offset(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - cut] + data[start:end]
            at = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            at += (end - at + 8) // 8 * 8
        if mode == 0o040000 or not name or mode >> 12 not in (0o10, 0o12, 0o16):
            raise UnreadableIndex("it is sparse, or has other ids")
        if mode not in _FOLDERS:
            yield os.fsdecode(name)
    if data[at : at + 4] == b"link":
        raise UnreadableIndex("it is split")


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """Return a number encoded as in a pack's offsets, and the index after it."""
    byte = data[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 127)
    return value, at + 1
