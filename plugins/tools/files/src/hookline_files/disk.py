"""Files as bytes: bounded reads, and atomic writes."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import Paths, ToolError

READ_CHUNK_BYTES = 1 << 20
"""Bytes per read."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_replace_lock = threading.Lock()
"""Held from the last check of a file until it is replaced, so that two writers of this process
cannot both pass the check."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Identifies one version of a file. ``digest`` is None if the file was not read whole."""

    mtime_ns: int
    size: int
    inode: int
    digest: bytes | None = None

    def matches(self, other: FileStamp) -> bool:
        """Whether both have the same content, by digest or else by time and size."""
        if self.digest and other.digest:
            return self.digest == other.digest
        return (self.mtime_ns, self.size) == (other.mtime_ns, other.size)


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of a file; ``whole`` is False if it is longer than the limit."""

    data: bytes
    stamp: FileStamp
    whole: bool


def file_stamp(status: os.stat_result, digest: bytes | None = None) -> FileStamp:
    """The stamp of a file with this status."""
    return FileStamp(status.st_mtime_ns, status.st_size, status.st_ino, digest)


def content_digest(data: bytes) -> bytes:
    """The digest that contents are compared by."""
    return hashlib.blake2b(data, digest_size=16).digest()


def load(paths: Paths, real: Path, limit: int) -> FileContent:
    """Read at most ``limit`` bytes of a regular file, even if it grows meanwhile."""
    with paths.open_read(real) as stream:
        status = os.fstat(stream.fileno())
        pieces: list[bytes] = []
        remaining = limit + 1
        while remaining > 0 and (piece := stream.read(min(remaining, READ_CHUNK_BYTES))):
            pieces.append(piece)
            remaining -= len(piece)
    data = b"".join(pieces)
    if len(data) > limit:
        return FileContent(data[:limit], file_stamp(status), whole=False)
    return FileContent(data, file_stamp(status, content_digest(data)), whole=True)


def replace(paths: Paths, real: Path, data: bytes, before: FileStamp | None) -> FileStamp:
    """Write ``data`` to ``real`` atomically, by renaming a flushed temporary file in its folder.

    ``before`` is the version to be replaced, None for a new file. Parent folders are created; mode
    and owner stay. ``real`` is resolved. Its folder is opened without following links and all
    steps use that handle, so that a link swapped in meanwhile has no effect.

    Raises:
        ToolError: the file is no longer ``before``, or a folder on its path became a link.
    """
    with _folder_of(paths, real) as (name, folder):
        temporary = str(Path(name).with_name(f".hookline-{secrets.token_hex(8)}.tmp"))
        try:
            _write_temporary(temporary, data, name, folder)
            with _replace_lock:
                _require_unchanged(name, folder, real, before)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        _sync_folder(folder, real.parent)
        return file_stamp(_lstat(name, folder), content_digest(data))


@contextmanager
def _folder_of(paths: Paths, real: Path) -> Iterator[tuple[str, int | None]]:
    """The name of ``real`` and a handle on its folder, created if it is missing."""
    with ExitStack() as stack:
        try:
            found = stack.enter_context(paths.folder(real))
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EEXIST):
                raise
            raise ToolError(
                f"{real.name} was not written: a name before it on the path is a file, not a "
                "folder, or became a link"
            ) from error
        yield found


def _write_temporary(temporary: str, data: bytes, name: str, folder: int | None) -> None:
    status = _status(name, folder)
    if status is not None and not os.access(name, os.W_OK, dir_fd=folder):
        # A rename would succeed, but the file was made read-only on purpose.
        raise PermissionError(errno.EACCES, "the file is read-only", name)
    # Private until it gets the mode of the file that it replaces.
    handle = os.open(temporary, _CREATE, 0o666 if status is None else 0o600, dir_fd=folder)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    if status is None:
        return
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(temporary, status.st_uid, status.st_gid, dir_fd=folder)
    os.chmod(temporary, stat.S_IMODE(status.st_mode), dir_fd=folder)


def _require_unchanged(name: str, folder: int | None, real: Path, before: FileStamp | None) -> None:
    status = _status(name, folder)
    now = file_stamp(status) if status else None
    known = FileStamp(before.mtime_ns, before.size, before.inode) if before else None
    if now != known:
        raise ToolError(
            f"{real.name} was changed by someone else while it was being written; nothing was "
            "replaced. Read it again and repeat the change"
        )


def _status(name: str, folder: int | None) -> os.stat_result | None:
    try:
        return _lstat(name, folder)
    except FileNotFoundError:
        return None


def _lstat(name: str, folder: int | None) -> os.stat_result:
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _sync_folder(folder: int | None, path: Path) -> None:
    with suppress(OSError):  # Some platforms and file systems cannot.
        handle = os.open(path if folder is None else ".", os.O_RDONLY, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
