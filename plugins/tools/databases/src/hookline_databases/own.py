"""Hookline's own files, which are no database for the agent: they hold secrets and memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

MOST = 20_000
"""Files of a home that are compared with one that has several names."""


def is_own(file: Path, home: Path, workspace: Path) -> bool:
    """Whether ``file`` (its links resolved) is one of Hookline's own, under whatever name.

    Those are the files of the home, and of another profile beside it, but for the folders that
    tools work in: the workspace, and ``chats/CHANNEL/ID/work``.
    """
    homes = {home.resolve(), Path("~/.hookline").expanduser().resolve()}
    if any(_holds(one, file, workspace.resolve()) for one in homes):
        return True
    if _is_home(file.parent):
        return True
    return _has_other_names(file) and any(_same(file, one) for one in homes)


def _holds(home: Path, file: Path, workspace: Path) -> bool:
    if not file.is_relative_to(home):
        return False
    inside = workspace.is_relative_to(home) and workspace != home
    if inside and file.is_relative_to(workspace):
        return False
    parts = file.relative_to(home).parts
    return not (len(parts) > 4 and parts[0] == "chats" and parts[3] == "work")


def _is_home(folder: Path) -> bool:
    """Another profile's home, by what lies in it."""
    return (folder / "hookline.db").is_file() and any(
        (folder / name).exists() for name in ("config.yaml", "SOUL.md", ".env", "chats", "logs")
    )


def _has_other_names(file: Path) -> bool:
    try:
        return file.stat().st_nlink > 1
    except OSError:
        return False


def _same(file: Path, home: Path) -> bool:
    wanted = file.stat()
    return any(
        (about.st_dev, about.st_ino) == (wanted.st_dev, wanted.st_ino) for about in _files(home)
    )


def _files(home: Path) -> Iterator[os.stat_result]:
    seen = 0
    for folder, _, names in os.walk(home):
        for name in names:
            seen += 1
            if seen > MOST:
                return
            try:
                yield (Path(folder) / name).stat()
            except OSError:
                continue
