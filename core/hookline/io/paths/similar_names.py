"""Finds a file whose name was repeated with plain spaces or without invisible characters."""

from __future__ import annotations

import os
from pathlib import Path

from hookline_hookspecs.file_names import exact_name, name_key

MAX_COMPARED_NAMES = 20_000
"""Entries of a folder that are compared."""


def existing_path(path: str) -> str:
    """The existing path that is shown like the absolute ``path``; ``path`` itself if it exists,
    if nothing is shown like it, or if several things are."""
    if os.path.lexists(path):
        return path
    found, changed = Path(Path(path).anchor), False
    parts = Path(path).parts[1:]
    for index, part in enumerate(parts):
        candidate = found / part
        if not os.path.lexists(candidate):
            similar = _similar_name(found, part)
            if similar is None:
                # A new file or folder; the folders before it may have been found.
                return str(found.joinpath(*parts[index:])) if changed else path
            candidate, changed = found / similar, True
        found = candidate
    return str(found)


def _similar_name(folder: Path, name: str) -> str | None:
    """The one entry that is shown as ``name``."""
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name for _, entry in zip(range(MAX_COMPARED_NAMES), entries, strict=False)
            ]
    except OSError:
        return None
    key = name_key(name)
    alike = [other for other in names if not other.isascii() and name_key(other) == key]
    if len(alike) > 1:
        alike = [other for other in alike if exact_name(other) == name]
    elif not alike:
        alike = [other for other in names if not other.isascii() and exact_name(other) == name]
    return alike[0] if len(alike) == 1 else None
