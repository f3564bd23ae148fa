"""The files that a hook's command line names, so that they can be pinned.

A guard is the script, not the line that starts it. The hash of every file that the line names is
noted when the hook is loaded, and compared before each run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

MAX_FILES = 20
MAX_BYTES = 20_000_000
"""A larger file is not pinned, and the hook that names it is not run."""
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
Pinned = tuple[tuple[str, str], ...]
"""Paths and their SHA-256."""


def named_files(
    words: Sequence[str], folder: Path, variables: Mapping[str, str]
) -> tuple[Path, ...]:
    """Return the existing files that the words of a command name; ``folder`` is its own."""
    found: dict[Path, None] = {}
    for word in words:
        text = _VARIABLE.sub(lambda m: variables.get(m[1], m[0]), word)
        for part in _split(text):
            if not part or part.startswith("-") or "\0" in part:
                continue
            path = folder / Path(part).expanduser()
            try:
                if path.is_file():
                    found[path.resolve()] = None
            except (OSError, RuntimeError):
                continue
    return tuple(found)[:MAX_FILES]


def _split(text: str) -> list[str]:
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&`")
        lexer.whitespace_split = True
        return list(lexer)
    except ValueError:
        return text.split()


def pin(paths: Sequence[Path]) -> Pinned:
    """Return the hashes of files; an unreadable one has an empty hash, which never matches."""
    return tuple((str(path), _digest(path)) for path in paths)


def changed(pinned: Pinned) -> list[str]:
    """Return the names of pinned files that differ now."""
    return [path for path, digest in pinned if not digest or _digest(Path(path)) != digest]


def _digest(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            return ""
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() + str(os.access(path, os.X_OK))
    except OSError:
        return ""
