"""The folders of a server's own code, which its command line names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

_TOP = ("package.json", "pyproject.toml", "pyvenv.cfg", "go.mod", "Cargo.toml")
"""Files that lie at the top of a program's folder."""
_HIGHEST = 6
"""Folders above a file that are looked at."""


def own_folders(argv: Iterable[str]) -> Iterator[str]:
    """Yield the folder of each program or script that ``argv`` names by a path.

    That is the ``node_modules`` or the top of the project that it belongs to, else the file's own;
    never the person's home or a folder above it. A folder that ``argv`` names is not a server's
    own: it may be anything.
    """
    for word in argv:
        file = Path(word)
        if file.is_absolute() and file.is_file():
            for path in dict.fromkeys([file, file.resolve()]):
                folder = _top(path)
                if not _holds_home(folder):
                    yield str(folder)


def _top(file: Path) -> Path:
    parts = file.parts
    if "node_modules" in parts:
        return Path(*parts[: parts.index("node_modules") + 1])
    for folder in list(file.parents)[:_HIGHEST]:
        if any((folder / name).is_file() for name in _TOP) and not _holds_home(folder):
            return folder
    return file.parent


def _holds_home(folder: Path) -> bool:
    return Path.home().is_relative_to(folder)
