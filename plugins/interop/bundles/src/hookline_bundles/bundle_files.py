"""Reads files of a bundle without leaving its folder, whatever links it holds."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_TEXT_BYTES = 1_000_000
"""Bytes of one file that is read."""
MAX_ENTRIES = 2_000
"""Files of one folder that are looked at."""


class OutsideBundle(ValueError):
    """A path leads out of the bundle."""


class Unreadable(ValueError):
    """A file cannot be read; the text says why."""


def resolve(root: Path, path: str | Path) -> Path:
    """Return the real path of ``path``, relative to ``root``.

    Raises:
        OutsideBundle: it is outside of ``root``, perhaps through a link.
    """
    if "\0" in str(path):
        raise OutsideBundle("it is not a path")
    real = Path(os.path.realpath(root / path))
    top = Path(os.path.realpath(root))
    if real != top and not real.is_relative_to(top):
        raise OutsideBundle(f"{path} leads out of the bundle")
    return real


def read_text(root: Path, path: str | Path) -> str:
    """Return a file's text.

    Raises:
        OutsideBundle: see :func:`resolve`.
        Unreadable: it is no regular file, too large or not UTF-8.
    """
    real = resolve(root, path)
    try:
        handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise Unreadable(f"{path} is not a file")
            data = stream.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_TEXT_BYTES:
        raise Unreadable(f"{path} is larger than {MAX_TEXT_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is not UTF-8 text") from None


def read_json(root: Path, path: str | Path) -> Any:
    """Return a JSON file's value. Raises as :func:`read_text` does."""
    text = read_text(root, path)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path} is not JSON: {error}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def exists(root: Path, path: str | Path) -> bool:
    """True if there is something at ``path``, be it a link that leads nowhere."""
    return os.path.lexists(root / path)


def children(root: Path, folder: str | Path) -> Iterator[str]:
    """Yield the names in a folder, sorted; none if it does not exist. Raises ``OutsideBundle``."""
    real = resolve(root, folder)
    try:
        names = sorted(entry.name for entry in os.scandir(real))
    except OSError:
        return
    yield from names[:MAX_ENTRIES]


def markdown_files(root: Path, folder: str, depth: int = 3) -> Iterator[str]:
    """Yield the ``.md`` files below a folder, as paths relative to ``root``.

    Raises ``OutsideBundle`` for the folder itself; links inside that lead out are yielded, and
    refused when they are read.
    """
    for name in children(root, folder):
        path = f"{folder}/{name}"
        if name.startswith("."):
            continue
        if (root / path).is_dir():
            if depth > 0 and not (root / path).is_symlink():
                yield from markdown_files(root, path, depth - 1)
        elif name.lower().endswith(".md") and name.lower() != "readme.md":
            yield path
