"""Decides whether a bare ``@name`` is a file, a folder or no reference."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hookline_hookspecs import Paths

from .grammar import Reference

MAX_BARE_NAMES = 1_000
"""Bare names of one message that are looked up; pasted code may have many decorators."""

_ENDINGS = """
c cc cfg conf cpp cs css csv go h hpp html ini ipynb java jpeg jpg js json jsx kt lock log lua md
pdf php pl png py pyi rb rs rst scala sh sql svg swift tex toml ts tsx txt vue xml yaml yml
"""
FILE_SUFFIXES = frozenset(_ENDINGS.split())
"""Endings that mark a bare name as a file, unlike ``@app.route`` and ``@alice``."""


def missing_files(found: Sequence[Reference], existing: Sequence[Reference]) -> list[str]:
    """Return the bare names of ``found`` that look like files and are not in ``existing``."""
    known = {reference.raw for reference in existing}
    return [
        reference.value
        for reference in found
        if reference.kind == "bare"
        and reference.raw not in known
        and not reference.value.startswith("/")  # as in the imports of some languages
        and reference.value.rpartition(".")[2].casefold() in FILE_SUFFIXES
        and "." in reference.value
    ]


async def resolve_bare_names(
    found: Sequence[Reference], paths: Paths, *, operator: bool
) -> list[Reference]:
    """Return ``found`` with each bare reference replaced by the file or folder it names; one that
    names neither is dropped.

    A path outside the workspace is kept, to be refused with a reason, if it exists, but only for
    an ``operator``: others would learn from it which files exist.
    """
    return await asyncio.to_thread(lambda: list(_resolve_bare(found, paths, operator)))


def _resolve_bare(found: Sequence[Reference], paths: Paths, operator: bool) -> Iterator[Reference]:
    remaining = MAX_BARE_NAMES
    for reference in found:
        if reference.kind != "bare":
            yield reference
            continue
        remaining -= 1
        if remaining >= 0 and (resolved := _meaning(reference, paths, operator)) is not None:
            yield resolved


def _meaning(reference: Reference, paths: Paths, operator: bool) -> Reference | None:
    as_range = replace(reference, whole="")
    readings = [as_range]
    if reference.whole:
        readings.append(Reference("bare", reference.whole, reference.raw))
    for reading in readings:
        is_folder = _is_folder(reading.value, paths, operator)
        if is_folder is not None:
            return replace(reading, kind="folder" if is_folder else "file")
    return None


def _is_folder(path: str, paths: Paths, operator: bool) -> bool | None:
    """Whether ``path`` is a folder; None if it does not exist or may not be revealed."""
    try:
        real = paths.resolve(path)
    except PermissionError:
        return False if _may_be_revealed(path, paths, operator) else None
    except (OSError, ValueError):
        return None
    return real.is_dir() if real.exists() else None


def _may_be_revealed(path: str, paths: Paths, operator: bool) -> bool:
    """Whether a refused path exists and the person may know that it does."""
    written = Path(path)
    leads_out = written.is_absolute() or path.startswith("~") or ".." in written.parts
    if leads_out and not operator:
        return False
    try:
        return os.path.lexists(paths.workspace / written.expanduser())
    except (OSError, ValueError, RuntimeError):
        return False
