"""Finds programs that Hookline itself starts, such as ``git``, never among files that tools write.

A conversation may write into its workspace, and with an activated virtual environment or
``node_modules/.bin`` a folder of the workspace stands on PATH. A program there is the model's, not
the operator's: Hookline starts none of them by name, and gives such folders to no program that it
starts. What a person or the configuration names with an absolute path is used as it is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

SYSTEM_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where a distribution installs programs: never writable for tools, whatever the workspace is."""
_writable: set[str] = set()
_found: dict[tuple[str, str], str] = {}


def add_writable_folder(folder: Path) -> None:
    """Note a folder that tools may write into: a workspace or an allowed root."""
    real = os.path.realpath(folder)
    if real not in _writable:
        _writable.add(real)
        _found.clear()


def forget_writable_folders() -> None:
    """Start anew, for a process that runs one home after another, as tests do."""
    _writable.clear()
    _found.clear()


def own_program(name: str, path: str | None = None) -> str | None:
    """Return the absolute path of a program, or None if there is none that may be started.

    It is searched for once on ``path``, by default PATH. An absolute ``name`` only has to exist; a
    relative one with a slash is never found.
    """
    if Path(name).is_absolute():
        return name if _is_program(name) else None
    if Path(name).name != name:
        return None
    searched = os.environ.get("PATH", os.defpath) if path is None else path
    key = name, searched
    if (found := _found.get(key)) is not None and _is_program(found):
        return found
    for folder in _own_folders(searched):
        program = str(Path(folder) / name)
        if _is_program(program) and not _may_be_written(os.path.realpath(program)):
            _found[key] = program
            return program
    return None


def passed_over(name: str) -> str | None:
    """Return the path of a program on PATH that :func:`own_program` does not start."""
    folders = map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep))
    programs = (str(folder / name) for folder in folders if folder.is_absolute())
    return None if own_program(name) else next(filter(_is_program, programs), None)


def own_path(path: str | None = None) -> str:
    """Return ``path``, by default PATH, without folders that tools may write into.

    It is for the environment of programs that Hookline starts, because they start others.
    """
    searched = os.environ.get("PATH", os.defpath) if path is None else path
    return os.pathsep.join(_own_folders(searched)) or os.pathsep.join(SYSTEM_FOLDERS)


def _own_folders(path: str) -> Iterator[str]:
    for folder in path.split(os.pathsep):
        if not Path(folder).is_absolute():
            continue  # an empty entry is the current folder
        real = os.path.realpath(folder)
        if not _may_be_written(real) and not _is_for_everyone(real):
            yield folder


def _may_be_written(real: str) -> bool:
    """True if a resolved path is in a folder that tools may write into."""
    if real in SYSTEM_FOLDERS or str(Path(real).parent) in SYSTEM_FOLDERS:
        return False
    return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in _writable)


def _is_for_everyone(folder: str) -> bool:
    """True if every user of the machine may create files in a folder, as in ``/tmp``."""
    try:
        return bool(Path(folder).stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)
