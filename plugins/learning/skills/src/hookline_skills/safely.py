"""Files below a folder, reached without following a link on any step of the way.

All functions take a trusted folder (what leads to it may hold links) and a relative path that
somebody else wrote.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from uuid import uuid4

DEPTH = 8
"""Folders deep a file may lie."""
_FOLDER = os.O_RDONLY | sum(getattr(os, n, 0) for n in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"))
_FILE = os.O_RDONLY | sum(getattr(os, n, 0) for n in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class BadPath(ValueError):
    """A path that leads out, through a link, or to what is no plain file. A sentence."""


class TooLarge(ValueError):
    """A file of more bytes than are read."""


def parts_of(path: str) -> tuple[str, ...]:
    """The steps of a relative path.

    Raises:
        BadPath: it is absolute, leads upwards, or has characters that no file needs.
    """
    if not path or len(path) > 400 or not path.isprintable() or "\\" in path or ":" in path:
        raise BadPath(
            f"{path[:80]!r} is no path of a skill's file; write it like references/api.md"
        )
    parts = PurePosixPath(path).parts
    if path.startswith(("/", "~")) or ".." in parts or not parts:
        raise BadPath(f"{path!r} leads out of the skill's folder; name a file inside of it")
    if len(parts) > DEPTH:
        raise BadPath(f"{path!r} lies more than {DEPTH} folders deep")
    return parts


def read_bytes(root: Path, path: str, most: int) -> bytes:
    """The bytes of a plain file.

    Raises:
        BadPath: see :func:`parts_of`; or it is a link, a device or a folder.
        TooLarge: it has more than ``most`` bytes.
        OSError: there is no such file, or it cannot be read.
    """
    with _parent(root, parts_of(path)) as (folder, name):
        handle = _opened(name, _FILE, folder, path)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise BadPath(f"{path} is no plain file")
            if found.st_size > most:
                raise TooLarge(f"{path} has {found.st_size:,} bytes; at most {most:,} are read")
            with os.fdopen(os.dup(handle), "rb") as stream:
                return stream.read(most + 1)[:most]
        finally:
            os.close(handle)


def write_bytes(root: Path, path: str, data: bytes, mode: int = 0o644) -> None:
    """Write a file so that it is whole at every moment: the old one, or the new one.

    Raises:
        BadPath: see :func:`parts_of`; or a link stands in the way.
        OSError: it could not be written.
    """
    with _parent(root, parts_of(path), make=True) as (folder, name):
        temporary = f".{uuid4().hex}.tmp"
        handle = os.open(temporary, _NEW, mode, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def remove(root: Path, path: str) -> None:
    """Remove a file, and the folders that are empty then.

    Raises:
        BadPath: see :func:`parts_of`.
        OSError: there is no such file.
    """
    parts = parts_of(path)
    with _parent(root, parts) as (folder, name):
        os.unlink(name, dir_fd=folder)
    for count in range(len(parts) - 1, 0, -1):
        with suppress(OSError, BadPath), _parent(root, parts[:count]) as (folder, name):
            os.rmdir(name, dir_fd=folder)


def walk(root: Path, most: int) -> Iterator[tuple[str, os.stat_result]]:
    """The plain files below ``root``: relative path and status, sorted, at most ``most``.

    Links, devices and what begins with a dot are passed over.
    """
    left = [most]

    def below(folder: Path, before: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if left[0] <= 0 or entry.name.startswith(".") or not entry.name.isprintable():
                    continue
                if entry.is_dir(follow_symlinks=False) and depth < DEPTH:
                    yield from below(Path(entry.path), f"{before}{entry.name}/", depth + 1)
                elif entry.is_file(follow_symlinks=False):
                    left[0] -= 1
                    yield before + entry.name, entry.stat(follow_symlinks=False)

    yield from below(root, "", 1)


def text_of(data: bytes, path: str) -> str:
    """The text of a file, without a byte order mark.

    Raises:
        BadPath: it is binary, or no UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadPath(f"{path} is binary or no UTF-8 text, so it cannot be shown") from None
    if "\0" in text:
        raise BadPath(f"{path} is binary, so it cannot be shown")
    return text


def same(path: str) -> str:
    """Equal for paths that some file systems take for one."""
    return unicodedata.normalize("NFKC", path).casefold()


@contextmanager
def _parent(root: Path, parts: tuple[str, ...], make: bool = False) -> Iterator[tuple[int, str]]:
    folder = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for part in parts[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            deeper = _opened(part, _FOLDER, folder, "/".join(parts))
            os.close(folder)
            folder = deeper
        yield folder, parts[-1]
    finally:
        os.close(folder)


def _opened(name: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            raise BadPath(f"{path} is or passes a link, which is not followed") from error
        raise BadPath(f"{path} is no plain file: {error.strerror}") from error
