"""What a path looks like as text, and where its links lead."""

from __future__ import annotations

import errno
import os
import re
import stat

MAX_PATH = 4096
"""Characters in a path; Linux's PATH_MAX."""
MAX_NAME = 255
"""Bytes in one component; NAME_MAX of the common file systems."""

_MAX_ROUNDS = 40  # Linux follows as many links in one path.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def shown(path: str) -> str:
    """``path`` in quotes, cut to 200 characters."""
    return repr(path if len(path) <= 200 else path[:199] + "…")


def malformed(path: str) -> str | None:
    """Why `path` cannot be the name of a file at all, or None."""
    if not path:
        return "The path is empty: name a file or a folder."
    if len(path) > MAX_PATH:
        return f"The path has {len(path)} characters; at most {MAX_PATH} are taken."
    if _CONTROL.search(path):
        return f"The path {shown(path)} holds control characters: name it without them."
    try:
        if max(map(len, os.fsencode(path).split(b"/"))) > MAX_NAME:
            return f"A name in the path {shown(path)} is longer than {MAX_NAME} bytes."
    except UnicodeEncodeError:
        return f"The path {shown(path)} cannot be written in this system's encoding."
    return None


def is_in(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies below it; both resolved."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def real_path(path: str) -> str | None:
    """`path` with every link followed, whether it exists or not; None where links form a circle."""
    try:
        return os.path.realpath(path, strict=True)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
    # Something is missing or hidden. Beyond that, and beyond a circle, realpath goes on by text
    # alone and may leave links behind: again, until nothing changes.
    for _ in range(_MAX_ROUNDS):
        before, path = path, os.path.realpath(path)
        if path == before:
            break
    try:
        return None if stat.S_ISLNK(os.lstat(path).st_mode) else path
    except OSError as error:
        return None if error.errno == errno.ELOOP else path
