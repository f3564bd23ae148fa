"""Keeps whole control files and folders, for a method that cannot hold them read-only."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

MAX_TREE_BYTES = 8_388_608
"""Bytes of one kept file or folder."""
MAX_TREE_ENTRIES = 500
"""Files and folders in one kept folder."""


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """A file with its content, a link with its target, or a folder. ``mode`` are its rights."""

    kind: Literal["file", "link", "folder"]
    mode: int
    data: bytes = b""


Tree: TypeAlias = dict[str, KeptEntry]
"""Entries by their path below the tree's own, which is the empty path; parents come first."""


def read_tree(path: str) -> Tree | None:
    """Return what is at ``path``; None if it is missing, too large, or not of regular files."""
    tree: Tree = {}
    size = 0
    pending = [""]
    try:
        while pending:
            below = pending.pop()
            entry = _read_entry(f"{path}/{below}" if below else path)
            tree[below] = entry
            size += len(entry.data)
            if size > MAX_TREE_BYTES or len(tree) > MAX_TREE_ENTRIES:
                return None
            if entry.kind == "folder":
                names = sorted(os.listdir(f"{path}/{below}" if below else path))  # noqa: PTH208
                pending += [f"{below}/{name}" if below else name for name in names]
    except OSError:
        return None
    return tree


def _read_entry(path: str) -> KeptEntry:
    """Raises ``OSError`` for what is no file, link or folder, and for large files."""
    state = os.lstat(path)
    mode = stat.S_IMODE(state.st_mode)
    if stat.S_ISLNK(state.st_mode):
        return KeptEntry("link", 0, os.fsencode(os.readlink(path)))  # noqa: PTH115
    if stat.S_ISDIR(state.st_mode):
        return KeptEntry("folder", mode)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would block
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123
        opened = os.fstat(file.fileno())
        if not stat.S_ISREG(opened.st_mode) or opened.st_size > MAX_TREE_BYTES:
            raise OSError(f"{path} is not a small file")
        return KeptEntry("file", mode, file.read())


def write_tree(tree: Tree, folder: int, name: str) -> None:
    """Write a tree as ``name`` into the folder of a descriptor, where that name is free.

    Raises:
        OSError: it could not be written.
    """
    for below, entry in sorted(tree.items(), key=lambda item: item[0].count("/")):
        path = f"{name}/{below}" if below else name
        if entry.kind == "link":
            os.symlink(entry.data, os.fsencode(path), dir_fd=folder)
        elif entry.kind == "folder":
            os.mkdir(path, 0o700, dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(path, flags, 0o600, dir_fd=folder), "wb") as file:  # noqa: PTH123
                file.write(entry.data)
                os.fchmod(file.fileno(), entry.mode)
    for below, entry in tree.items():
        if entry.kind == "folder":
            os.chmod(f"{name}/{below}" if below else name, entry.mode, dir_fd=folder)


def open_folder(name: str, around: int | None) -> int:
    """Open a folder, in the folder of the descriptor ``around``, without following a link.

    If it is this account's own, its owner may read and change it from then on: a program could
    have taken that right away. Raises ``OSError``.
    """
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    if not hasattr(os, "O_PATH"):  # macOS
        return os.open(name, flags | os.O_RDONLY, dir_fd=around)
    found = os.open(name, flags | os.O_PATH, dir_fd=around)
    try:
        here = f"/proc/self/fd/{found}"
        mode = os.fstat(found).st_mode
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            with suppress(OSError):
                os.chmod(here, stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101
        return os.open(here, os.O_DIRECTORY | os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(found)


def make_parents(root: str, parents: list[str], remove: Callable[[str], None]) -> bool:
    """Make the folders ``parents`` below ``root``, each in the one before, without following links.

    remove: is called with a path in the way that is no folder. Return False if one of them would be
    a repository's own folder, which is not made anew.
    """
    path = root
    for part in parents:
        path = f"{path}/{part}"
        if os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path)):  # noqa: PTH112, PTH114
            remove(path)
        if os.path.isdir(path):  # noqa: PTH112
            continue
        if part.endswith(".git"):
            return False
        with suppress(FileExistsError):
            os.mkdir(path, 0o755)  # noqa: PTH102
    return True
