"""Hookline's own files, which the agent may not query: they contain secrets and memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

MAX_COMPARED_FILES = 20_000
"""Files of a home that are compared with a file that has hard links."""


def is_hookline_file(file: Path, home: Path, workspace: Path) -> bool:
    """Whether ``file`` (its links resolved) belongs to Hookline, under any name.

    These are the files of this home and of other profiles, except in the folders that tools work
    in: the workspace and ``chats/CHANNEL/ID/work``.
    """
    homes = {home.resolve(), Path("~/.hookline").expanduser().resolve()}
    if any(_is_in_home(home, file, workspace.resolve()) for home in homes):
        return True
    if _is_home(file.parent):
        return True
    return _has_other_names(file) and any(_is_hard_link_into(file, home) for home in homes)


def _is_in_home(home: Path, file: Path, workspace: Path) -> bool:
    if not file.is_relative_to(home):
        return False
    inside = workspace.is_relative_to(home) and workspace != home
    if inside and file.is_relative_to(workspace):
        return False
    parts = file.relative_to(home).parts
    return not (len(parts) > 4 and parts[0] == "chats" and parts[3] == "work")


def _is_home(folder: Path) -> bool:
    """Whether a folder is another profile's home, judged by its files."""
    return (folder / "hookline.db").is_file() and any(
        (folder / name).exists() for name in ("config.yaml", "SOUL.md", ".env", "chats", "logs")
    )


def _has_other_names(file: Path) -> bool:
    try:
        return file.stat().st_nlink > 1
    except OSError:
        return False


def _is_hard_link_into(file: Path, home: Path) -> bool:
    target = file.stat()
    return any(
        (status.st_dev, status.st_ino) == (target.st_dev, target.st_ino) for status in _files(home)
    )


def _files(home: Path) -> Iterator[os.stat_result]:
    seen = 0
    for folder, _, names in os.walk(home):
        for name in names:
            seen += 1
            if seen > MAX_COMPARED_FILES:
                return
            try:
                yield (Path(folder) / name).stat()
            except OSError:
                continue
