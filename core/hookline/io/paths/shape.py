"""Checks the form of a path, and follows its links."""

from __future__ import annotations

import errno
import os
import re
import stat

MAX_PATH = 4096
"""Maximum length of a path in characters; Linux's PATH_MAX."""
MAX_NAME = 255
"""Maximum length of a component in bytes; NAME_MAX of common file systems."""

_MAX_ROUNDS = 40  # the number of links that Linux follows in a path
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def shown(path: str) -> str:
    """``path`` in quotes, cut to 200 characters."""
    return repr(path if len(path) <= 200 else path[:199] + "…")


def malformed(path: str) -> str | None:
    """Why `path` cannot be a file's path at all, or None."""
    if not path:
        return "The path is empty: name a file or a folder."
    if len(path) > MAX_PATH:
        return f"The path has {len(path)} characters; the maximum is {MAX_PATH}."
    if _CONTROL.search(path):
        return f"The path {shown(path)} contains control characters: remove them."
    try:
        if max(map(len, os.fsencode(path).split(b"/"))) > MAX_NAME:
            return f"A name in the path {shown(path)} is longer than {MAX_NAME} bytes."
    except UnicodeEncodeError:
        return f"The path {shown(path)} cannot be written in this system's encoding."
    return None


def is_in(path: str, folder: str) -> bool:
    """True if `path` is `folder` or below it; both are resolved."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def real_path(path: str) -> str | None:
    """`path` with all links followed; it need not exist. None if links form a loop."""
    try:
        return os.path.realpath(path, strict=True)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
    # Something is missing or inaccessible. After that point, and after a loop, realpath only joins
    # text and may leave links in the result, so repeat it until nothing changes.
    for _ in range(_MAX_ROUNDS):
        before, path = path, os.path.realpath(path)
        if path == before:
            break
    try:
        return None if stat.S_ISLNK(os.lstat(path).st_mode) else path
    except OSError as error:
        return None if error.errno == errno.ELOOP else path
