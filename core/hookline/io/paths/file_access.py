"""Flags and checks for opening regular files in an open folder."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hookline_hookspecs import Refused

from .shape import shown

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Flags for reading: never follow links, wait for pipes or take over a terminal."""
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
"""Flags for a new file."""


class PathRefused(Refused, PermissionError):
    """A path may not be used; the text is a sentence that says why and what to do."""


@contextmanager
def full_path_in_errors(path: Path) -> Iterator[None]:
    """Put the whole path into errors of calls that only had its last component."""
    try:
        yield
    except PathRefused:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
            raise PathRefused(
                f"The path {shown(str(path))} changed while it was being opened, "
                "or passes through something that is not a folder."
            ) from error
        raise OSError(error.errno, error.strerror, str(path)) from error


def status_of(name: str, folder: int | None) -> os.stat_result | None:
    """The status of a name in an open folder, without following links; None if it is missing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def writable_mode(name: str, folder: int | None, path: Path) -> int | None:
    """The mode of the file that a write would replace; None for a new file."""
    status = status_of(name, folder)
    if status is None:
        return None
    require_regular(status.st_mode, path)
    # Replacing a file does not need write permission on it, but a read-only file must stay.
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise PermissionError(errno.EACCES, "The file is read-only", str(path))
    return status.st_mode


def require_regular(mode: int, path: Path) -> None:
    """Raise ``PathRefused`` unless ``mode`` is that of a regular file."""
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a link, a device, a socket or a pipe"
        raise PathRefused(f"{shown(str(path))} is {kind}, not a file with content.")


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    """The entries of a folder, sorted; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # unreadable, removed meanwhile, or a file
