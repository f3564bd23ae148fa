"""Decides what a bare ``@name`` means: a file or a folder that is there, or nothing at all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hookline_hookspecs import Paths

from .grammar import Reference

LOOKED_AT = 1_000
"""Bare names of one message that are looked up; pasted code may hold any number of decorators."""

_ENDINGS = """
c cc cfg conf cpp cs css csv go h hpp html ini ipynb java jpeg jpg js json jsx kt lock log lua md
pdf php pl png py pyi rb rs rst scala sh sql svg swift tex toml ts tsx txt vue xml yaml yml
"""
ENDINGS = frozenset(_ENDINGS.split())
"""How names of files end; ``@app.route`` and ``@alice`` are others' names."""


def missing(found: Sequence[Reference], there: Sequence[Reference]) -> list[str]:
    """The bare names of ``found`` that are none of ``there`` and must be meant as files."""
    known = {one.raw for one in there}
    return [
        one.value
        for one in found
        if one.kind == "bare"
        and one.raw not in known
        and not one.value.startswith("/")  # as in the imports of some languages
        and one.value.rpartition(".")[2].casefold() in ENDINGS
        and "." in one.value
    ]


async def settled(found: Sequence[Reference], paths: Paths, *, operator: bool) -> list[Reference]:
    """Return ``found`` with each bare reference as the file or folder it names, or left out.

    One that leads out of the workspace stays, to be refused with a reason, if something is there;
    only to an ``operator``, because others would learn by it what is there.
    """
    return await asyncio.to_thread(lambda: list(_settled(found, paths, operator)))


def _settled(found: Sequence[Reference], paths: Paths, operator: bool) -> Iterator[Reference]:
    left = LOOKED_AT
    for reference in found:
        if reference.kind != "bare":
            yield reference
            continue
        left -= 1
        if left >= 0 and (meant := _meaning(reference, paths, operator)) is not None:
            yield meant


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
    """Whether ``path`` is a folder; None if there is nothing, or nothing that may be known."""
    try:
        real = paths.resolve(path)
    except PermissionError:
        return False if _may_be_told(path, paths, operator) else None
    except (OSError, ValueError):
        return None
    return real.is_dir() if real.exists() else None


def _may_be_told(path: str, paths: Paths, operator: bool) -> bool:
    """Whether there is something at a path that is refused, and the person may know of it."""
    written = Path(path)
    leads_out = written.is_absolute() or path.startswith("~") or ".." in written.parts
    if leads_out and not operator:
        return False
    try:
        return os.path.lexists(paths.workspace / written.expanduser())
    except (OSError, ValueError, RuntimeError):
        return False
