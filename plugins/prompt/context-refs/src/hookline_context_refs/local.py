"""Resolves ``@file`` and ``@folder`` through the guarded paths."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from hookline_hookspecs import Paths
from hookline_hookspecs.file_names import shown_name

from .decoding import cut_chars, decode
from .grammar import Reference
from .reference_content import ReferenceContent, ReferenceSources, UnresolvedReference

UNLISTED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders that are listed without their content, as hidden folders are."""
MAX_SCANNED_ENTRIES = 20_000
"""Entries that one ``@folder`` scans."""


async def load_file(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    """Return the text of a file, or of some of its lines. Raises ``UnresolvedReference``."""
    return await asyncio.to_thread(_file, reference, sources)


async def load_folder(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    """Return the entries of a folder and of those below it, the nearest if not all fit."""
    return await asyncio.to_thread(_folder, reference, sources)


def _file(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    real = _existing(reference, sources.paths)
    if real.is_dir():
        raise UnresolvedReference(f"it is a folder; write @folder:{reference.value}")
    if real in sources.pictures:
        return ReferenceContent(
            ("file", real), reference.value, "", "(a picture; it is attached to the message)"
        )
    limit = sources.config.file_max_bytes
    with sources.paths.open_read(real) as stream:
        data = _read(stream.fileno(), limit + 1)
    if len(data) > limit:
        raise UnresolvedReference(f"it is larger than {limit} bytes; let the model read parts")
    whole, unsure = decode(data)
    text, warnings = _lines(whole, reference)
    if unsure:
        warnings += (f"{reference.raw} {unsure}",)
    shown, note = cut_chars(text, sources.config.file_max_chars)
    key = ("file", real, reference.lines)
    note = note or ("" if data else "(empty file)")
    return ReferenceContent(key, reference.value, shown, note, warnings, files=(real,))


def _read(handle: int, limit: int) -> bytes:
    """Read at most ``limit`` bytes, even if the file grows meanwhile."""
    pieces: list[bytes] = []
    while limit > 0 and (piece := os.read(handle, limit)):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _lines(text: str, reference: Reference) -> tuple[str, tuple[str, ...]]:
    """Return the requested lines, and warnings about them."""
    if reference.lines is None:
        return text, ()
    first, last = reference.lines
    lines = text.split("\n")
    count = len(lines) if lines[-1] else len(lines) - 1
    if first > count:
        raise UnresolvedReference(f"line {first} is past the end; the file has {count} lines")
    shown = "\n".join(lines[first - 1 : min(last, count)])
    if last <= count:
        return shown, ()
    return shown, (f"{reference.raw} ends at line {count}, the last one of the file",)


def _existing(reference: Reference, paths: Paths) -> Path:
    real = paths.resolve(reference.value)
    if not real.exists():
        raise UnresolvedReference("it does not exist in the workspace")
    return real


def _folder(reference: Reference, sources: ReferenceSources) -> ReferenceContent:
    real = _existing(reference, sources.paths)
    if not real.is_dir():
        raise UnresolvedReference(f"it is not a folder; write @file:{reference.value}")
    names: list[str] = []
    left_out = 0
    limit = sources.config.folder_max_entries
    for level in _levels(sources.paths, real):
        room = limit - len(names)
        names += level[:room]
        left_out = len(level) - room
        if left_out > 0:
            break
    note = f"[… at least {left_out} more entries left out]" if left_out > 0 else ""
    text = "\n".join(sorted(names))
    note = note or ("" if names else "(empty)")
    return ReferenceContent(("folder", real), reference.value, text, note, files=(real,))


def _levels(paths: Paths, root: Path) -> Iterator[list[str]]:
    """Yield the entries of ``root``, then those of its folders, and so on; each level sorted."""
    budget = MAX_SCANNED_ENTRIES
    folders = [root]
    while folders and budget > 0:
        names: list[str] = []
        inner: list[Path] = []
        for folder in folders:
            for entry in _entries(folder, budget):
                budget -= 1
                if paths.check_path(entry.path) is not None:
                    continue
                name = shown_name(Path(entry.path).relative_to(root).as_posix())
                names.append(f"{name}/" if entry.is_dir() else name)
                if entry.is_dir(follow_symlinks=False) and _is_entered(entry.name):
                    inner.append(Path(entry.path))
        yield sorted(names)
        folders = inner


def _is_entered(name: str) -> bool:
    return not name.startswith(".") and name not in UNLISTED_FOLDERS


def _entries(folder: Path, limit: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = [entry for _, entry in zip(range(limit), found, strict=False)]
    except OSError:
        return []  # Unreadable, or gone since.
    return sorted(entries, key=lambda entry: entry.name)
