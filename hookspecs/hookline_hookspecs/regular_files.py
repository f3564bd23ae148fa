"""Opens a regular file without waiting for a pipe and without following a link."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
)


def open_regular(path: Path) -> BinaryIO:
    """Open the regular file at a resolved path for reading.

    Raises ``OSError`` if it is missing, or is a folder, a link, a pipe, a socket or a device.
    """
    _require_regular(os.lstat(path).st_mode, path)  # opening some devices has an effect
    handle = os.open(path, _READ)
    try:
        _require_regular(os.fstat(handle).st_mode, path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _require_regular(mode: int, path: Path) -> None:
    if stat.S_ISREG(mode):
        return
    kind = "a folder" if stat.S_ISDIR(mode) else "a link, a pipe, a socket or a device"
    raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
