"""The folders that hold a server's own code, found from its command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

PROJECT_FILES = ("package.json", "pyproject.toml", "pyvenv.cfg", "go.mod", "Cargo.toml")
"""Files that mark the top folder of a project."""
MAX_PARENTS = 6
"""How many folders above a file are searched."""


def server_code_folders(argv: Iterable[str]) -> Iterator[str]:
    """Yield the folder of each program or script that ``argv`` names by an absolute path.

    That is its ``node_modules``, else the top folder of its project, else the folder it is in;
    never the user's home or a folder above it. Folders in ``argv`` are left out: they may be data.
    """
    for word in argv:
        file = Path(word)
        if file.is_absolute() and file.is_file():
            for path in dict.fromkeys([file, file.resolve()]):
                folder = _project_folder(path)
                if not _holds_home(folder):
                    yield str(folder)


def _project_folder(file: Path) -> Path:
    parts = file.parts
    if "node_modules" in parts:
        return Path(*parts[: parts.index("node_modules") + 1])
    for folder in list(file.parents)[:MAX_PARENTS]:
        if any((folder / name).is_file() for name in PROJECT_FILES) and not _holds_home(folder):
            return folder
    return file.parent


def _holds_home(folder: Path) -> bool:
    return Path.home().is_relative_to(folder)
