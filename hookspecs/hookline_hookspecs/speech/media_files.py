"""The folder ``media`` in Hookline's home, for generated files until they are delivered.

A name is 32 random hexadecimal digits and a suffix, so that it cannot be guessed.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

_NAME = re.compile(r"[0-9a-f]{32}\.[a-z0-9]{1,5}")


def media_folder(home: Path) -> Path:
    """The media folder of a home, resolved, because machines may share it; see :func:`keep`."""
    return (home / "media").resolve()


def keep(folder: Path, data: bytes, suffix: str) -> Path:
    """Save ``data`` under a new name with ``suffix``, readable only by its owner.

    The folder is created if necessary. Raises ``OSError``; no file is then left.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{secrets.token_hex(16)}{suffix}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
    except OSError:
        path.unlink()
        raise
    return path


def is_kept(name: str) -> bool:
    """True if ``name`` has the form of the names that :func:`keep` creates."""
    return _NAME.fullmatch(name) is not None


def open_kept(folder: Path, name: str) -> BinaryIO:
    """Open a kept file. Raises ``OSError``, also for a name or file of another kind."""
    if not is_kept(name):
        raise FileNotFoundError(f"{name!r} is not the name of a kept file")
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(folder / name, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError(f"{name} is not a kept file")
    return os.fdopen(handle, "rb")


def prune(folder: Path, before: float) -> int:
    """Delete kept files last written before the Unix time ``before``; return their number."""
    if not folder.is_dir():
        return 0
    deleted = 0
    for path in folder.iterdir():
        if is_kept(path.name) and path.lstat().st_mtime < before:
            path.unlink(missing_ok=True)
            deleted += 1
    return deleted
