"""Decides what a reference means by what exists: a file, a folder or nothing."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import get_args

from hookline_hookspecs import Paths

from .grammar import Kind, Reference

MAX_BARE_NAMES = 1_000
"""Bare names of one message that are looked up; pasted code may have many decorators."""

_ENDINGS = """
adoc astro bat bmp c cc cfg cjs clj conf cpp cs csproj css csv cxx dart diff docx erl ex exs fish fs
gif go gradle graphql h hcl hh hpp hs htm html ico ini ipynb java jpeg jpg js json json5 jsonl jsx
kt kts less lock log lua m md mdc mdx mjs mm mts nim odt parquet patch pdf php pl plist png pptx
properties proto ps1 py pyi pyx r rb rmd rs rst rtf sass scala scss sh sol sql sqlite svelte svg
swift tex tf toml ts tsv tsx txt vue webp xlsx xml yaml yml zig zsh
"""
FILE_SUFFIXES = frozenset(_ENDINGS.split())
"""Endings that mark a bare name as a file, unlike ``@app.route`` and ``@alice``."""


def missing_files(found: Sequence[Reference], existing: Sequence[Reference]) -> list[str]:
    """Return the bare names of ``found`` that look like files and are not in ``existing``."""
    known = {reference.raw for reference in existing}
    return [
        name
        for reference in found
        if reference.kind == "bare"
        and not known.intersection(one.raw for one in (reference, *reference.shorter))
        and (name := _file_name(reference))
    ]


def misspelt_kinds(found: Sequence[Reference]) -> list[tuple[str, str]]:
    """Return bare references such as ``@File:a.py``, each with the kind that is probably meant."""
    misspelt = []
    for reference in found:
        word, colon, value = reference.raw.removeprefix("@").partition(":")
        if reference.kind == "bare" and colon and value and word.isalpha():
            near = difflib.get_close_matches(word.casefold(), get_args(Kind), 1, 0.75)
            misspelt += [(reference.raw, near[0])] if near and not value.isdigit() else []
    return misspelt


def _file_name(reference: Reference) -> str:
    """The reading that is written like the path of a file, or empty."""
    readings = (*reversed(reference.shorter), reference)
    for one in readings:
        # An import of some languages begins with a slash.
        if not one.value.startswith("/") and _has_file_suffix(one.value):
            return one.value
    for one in readings:
        if one.lines or one.value.startswith(("./", "../", "~/")):
            return one.value
    return ""


def _has_file_suffix(path: str) -> bool:
    name, dot, suffix = path.rpartition(".")
    return bool(name and dot) and suffix.casefold() in FILE_SUFFIXES


async def resolve_bare_names(
    found: Sequence[Reference], paths: Paths, *, operator: bool
) -> list[Reference]:
    """Return ``found`` with each reference replaced by the reading whose file or folder exists; a
    bare one that names neither is dropped.

    A path outside the workspace is kept, to be refused with a reason, if it exists, but only for
    an ``operator``: others would learn from it which files exist.
    """
    return await asyncio.to_thread(lambda: list(_resolve_bare(found, paths, operator)))


def _resolve_bare(found: Sequence[Reference], paths: Paths, operator: bool) -> Iterator[Reference]:
    remaining = MAX_BARE_NAMES
    for reference in found:
        if reference.kind != "bare":
            yield _existing_reading(reference, paths)
            continue
        remaining -= 1
        if remaining >= 0 and (resolved := _meaning(reference, paths, operator)) is not None:
            yield resolved


def _existing_reading(reference: Reference, paths: Paths) -> Reference:
    """The longest reading that exists, or else the shortest, which is what remains of a word."""
    if not reference.shorter:
        return reference
    readings = (replace(reference, shorter=()), *reference.shorter)
    for reading in readings:
        with suppress(OSError, ValueError):
            if paths.resolve(reading.value).exists():
                return reading
    return readings[-1]


def _meaning(reference: Reference, paths: Paths, operator: bool) -> Reference | None:
    readings = []
    for one in (reference, *reference.shorter):
        readings.append(replace(one, whole="", shorter=()))
        if one.whole:
            readings.append(Reference("bare", one.whole, one.raw))
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
