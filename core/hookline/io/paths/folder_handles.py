"""Opens the folder of a resolved path one component at a time, so that no link is followed.

The path was resolved and checked before. If it now contains a link, the link was added since, and
opening fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = _PATH_ONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW

Enter = Callable[[str, int], int]
"""Opens the folder of a name within an open folder."""


def enter(name: str, folder: int) -> int:
    """Open the folder ``name`` in ``folder``. It must exist and not be a link."""
    return os.open(name, _FOLDER, dir_fd=folder)


def enter_or_make(name: str, folder: int) -> int:
    """Like `enter`, but create a missing folder."""
    with suppress(FileExistsError):  # another writer may create it at the same time
        os.mkdir(name, dir_fd=folder)
    return enter(name, folder)


@contextmanager
def folder_of(real: Path, start: Path, enter: Enter) -> Iterator[tuple[str, int | None]]:
    """The last component of ``real``, and an open handle on its folder for use as ``dir_fd``.

    ``start`` is a folder at or above ``real`` that is opened by its path, so no one else may be
    able to replace it. On a system without folder handles (Windows), the whole path and None.
    Raises ``OSError`` with ``ELOOP`` or ``ENOTDIR`` if there is a link below ``start``.
    """
    if os.open not in os.supports_dir_fd:
        yield str(real), None
        return
    if real == start:
        start = real.parent
    *folders, name = real.relative_to(start).parts or (".",)
    handle = _descend(start, folders, enter)
    try:
        yield name, handle
    finally:
        os.close(handle)


def _descend(start: Path, folders: list[str], enter: Enter) -> int:
    handle = os.open(start, _FOLDER)
    try:
        for name in folders:
            inner = enter(name, handle)
            os.close(handle)
            handle = inner
    except BaseException:
        os.close(handle)
        raise
    return handle
