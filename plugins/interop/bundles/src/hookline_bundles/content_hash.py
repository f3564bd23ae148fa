"""The hash of a bundle's content, and the hashes of its files.

The hash covers the path, the executable bit and the content of every file, so that any change to
what may run or be read is one of the hash.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from .bundle import InvalidBundle

MAX_FILES = 20_000
MAX_BYTES = 200_000_000
"""Limits of one bundle."""
SKIPPED = frozenset({".git", "__pycache__", ".DS_Store"})
"""Names that are neither installed nor hashed."""

Stamp = tuple[tuple[str, int, int, int, int], ...]
"""For each file its path, size, modification and status change time (ns) and inode."""


def file_hashes(root: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below ``root`` by path, with ``x`` before an executable's.

    A link counts as its target's text.

    Raises:
        InvalidBundle: there are too many files or bytes, or one cannot be read.
    """
    hashes: dict[str, str] = {}
    total = 0
    for path, status in _files(root):
        total += status.st_size
        if len(hashes) >= MAX_FILES or total > MAX_BYTES:
            raise InvalidBundle(f"it has more than {MAX_FILES:,} files or {MAX_BYTES:,} bytes")
        try:
            if stat.S_ISLNK(status.st_mode):
                hashes[path] = f"link {(root / path).readlink()}"
                continue
            with (root / path).open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise InvalidBundle(f"{path} cannot be read: {error.strerror}") from None
        hashes[path] = ("x" if status.st_mode & stat.S_IXUSR else "") + digest
    return hashes


def content_hash(hashes: Mapping[str, str]) -> str:
    """Return one SHA-256 of all :func:`file_hashes`."""
    whole = hashlib.sha256()
    for path, digest in sorted(hashes.items()):
        whole.update(
            f"{len(path.encode('utf-8', 'surrogateescape'))} {path} {digest}\n".encode(
                "utf-8", "surrogateescape"
            )
        )
    return whole.hexdigest()


def stamp(root: Path) -> Stamp:
    """Return what changes whenever a file below ``root`` does; cheaper than its hash."""
    return tuple(
        (path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        for path, status in _files(root)
    )


def _files(root: Path, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every file and link below ``root``, sorted, without following links."""
    if depth > 30:
        raise InvalidBundle(f"{prefix} is nested too deeply")
    try:
        entries = sorted(os.scandir(root / prefix), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name in SKIPPED:
            continue
        path = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _files(root, f"{path}/", depth + 1)
            continue
        try:
            yield path, entry.stat(follow_symlinks=False)
        except OSError:
            continue
