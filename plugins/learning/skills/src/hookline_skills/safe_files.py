"""Reads and writes files below a folder without following links.

All functions take a trusted folder, whose own path may contain links, and an untrusted relative
path.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from uuid import uuid4

MAX_DEPTH = 8
"""Parts that a path may have."""
_OPEN_FOLDER = os.O_RDONLY | sum(
    getattr(os, n, 0) for n in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")
)
_OPEN_FILE = os.O_RDONLY | sum(getattr(os, n, 0) for n in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
_CREATE_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class BadPath(ValueError):
    """A path leads out or through a link, or the file is not a regular file or text."""


class TooLarge(ValueError):
    """A file is larger than the caller reads."""


def split_path(path: str) -> tuple[str, ...]:
    """Split a relative path into its parts.

    Raises:
        BadPath: it is absolute, leads upwards, is too deep, or has unusual characters.
    """
    if not path or len(path) > 400 or not path.isprintable() or "\\" in path or ":" in path:
        raise BadPath(
            f"{path[:80]!r} is not a path of a skill's file; write it like references/api.md"
        )
    parts = PurePosixPath(path).parts
    if path.startswith(("/", "~")) or ".." in parts or not parts:
        raise BadPath(f"{path!r} leads out of the skill's folder; name a file inside it")
    if len(parts) > MAX_DEPTH:
        raise BadPath(f"{path!r} is more than {MAX_DEPTH} folders deep")
    return parts


def read_bytes(root: Path, path: str, max_bytes: int) -> bytes:
    """Read a regular file.

    Raises:
        BadPath: see :func:`split_path`; or it is a link, a device or a folder.
        TooLarge: it has more than ``max_bytes``.
        OSError: it does not exist or cannot be read.
    """
    with _parent_folder(root, split_path(path)) as (folder, name):
        handle = _open_no_follow(name, _OPEN_FILE, folder, path)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise BadPath(f"{path} is not a regular file")
            if found.st_size > max_bytes:
                raise TooLarge(f"{path} has {found.st_size:,} bytes; the limit is {max_bytes:,}")
            with os.fdopen(os.dup(handle), "rb") as stream:
                return stream.read(max_bytes + 1)[:max_bytes]
        finally:
            os.close(handle)


def write_bytes(root: Path, path: str, data: bytes, mode: int = 0o644) -> None:
    """Write a file in one step: readers see the old content or the new.

    Raises:
        BadPath: see :func:`split_path`; or it is or passes a link.
        OSError: it could not be written.
    """
    with _parent_folder(root, split_path(path), make=True) as (folder, name):
        temporary = f".{uuid4().hex}.tmp"
        handle = os.open(temporary, _CREATE_FILE, mode, dir_fd=folder)
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
    """Remove a file, and its folders that become empty.

    Raises:
        BadPath: see :func:`split_path`.
        OSError: it does not exist.
    """
    parts = split_path(path)
    with _parent_folder(root, parts) as (folder, name):
        os.unlink(name, dir_fd=folder)
    for count in range(len(parts) - 1, 0, -1):
        with suppress(OSError, BadPath), _parent_folder(root, parts[:count]) as (folder, name):
            os.rmdir(name, dir_fd=folder)


def list_files(root: Path, limit: int) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below ``root``: relative path and status, sorted, at most ``limit``.

    Links, devices and names that begin with a dot are skipped.
    """
    remaining = limit

    def walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
        nonlocal remaining
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                if remaining <= 0 or entry.name.startswith(".") or not entry.name.isprintable():
                    continue
                if entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
                    yield from walk(Path(entry.path), f"{prefix}{entry.name}/", depth + 1)
                elif entry.is_file(follow_symlinks=False):
                    remaining -= 1
                    yield prefix + entry.name, entry.stat(follow_symlinks=False)

    yield from walk(root, "", 1)


def decode_text(data: bytes, path: str) -> str:
    """Decode the text of a file, without a byte order mark.

    Raises:
        BadPath: it is binary or not UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadPath(f"{path} is binary or not UTF-8, so it cannot be shown") from None
    if "\0" in text:
        raise BadPath(f"{path} is binary, so it cannot be shown")
    return text


def collision_key(path: str) -> str:
    """Return the same key for paths that some file systems do not distinguish."""
    return unicodedata.normalize("NFKC", path).casefold()


@contextmanager
def _parent_folder(
    root: Path, parts: tuple[str, ...], make: bool = False
) -> Iterator[tuple[int, str]]:
    folder = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for part in parts[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            deeper = _open_no_follow(part, _OPEN_FOLDER, folder, "/".join(parts))
            os.close(folder)
            folder = deeper
        yield folder, parts[-1]
    finally:
        os.close(folder)


def _open_no_follow(name: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            raise BadPath(f"{path} is or passes a link; links are not followed") from error
        raise BadPath(f"{path} is not a regular file: {error.strerror}") from error
