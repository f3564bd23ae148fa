"""Files as bytes: bounded reads, and writes that replace a file whole or not at all."""

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

CHUNK = 1 << 20
"""Bytes per read."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_commit = threading.Lock()
"""Held from the last look at a file until it is replaced, so that two writers of this process
cannot both believe that nothing happened in between."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one version of a file from another. ``digest`` is None if not all was read."""

    mtime_ns: int
    size: int
    inode: int
    digest: bytes | None = None

    def same(self, other: Stamp) -> bool:
        """Whether both are of the same content, as far as can be told."""
        if self.digest and other.digest:
            return self.digest == other.digest
        return (self.mtime_ns, self.size) == (other.mtime_ns, other.size)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The bytes of a file; ``whole`` is False where it has more than were asked for."""

    data: bytes
    stamp: Stamp
    whole: bool


def stamp_of(status: os.stat_result, digest: bytes | None = None) -> Stamp:
    """The stamp of a file with this status."""
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino, digest)


def digest_of(data: bytes) -> bytes:
    """A digest to compare contents by."""
    return hashlib.blake2b(data, digest_size=16).digest()


def load(paths: Paths, real: Path, limit: int) -> Loaded:
    """Read at most ``limit`` bytes of a regular file, even of one that grows meanwhile."""
    with paths.open_read(real) as stream:
        status = os.fstat(stream.fileno())
        pieces: list[bytes] = []
        left = limit + 1
        while left > 0 and (piece := stream.read(min(left, CHUNK))):
            pieces.append(piece)
            left -= len(piece)
    data = b"".join(pieces)
    if len(data) > limit:
        return Loaded(data[:limit], stamp_of(status), whole=False)
    return Loaded(data, stamp_of(status, digest_of(data)), whole=True)


def replace(paths: Paths, real: Path, data: bytes, before: Stamp | None) -> Stamp:
    """Write ``data`` to ``real`` at once: a temporary file beside it, flushed, takes its place.

    ``before`` is the version that this one is made from, None for a new file. Parent folders are
    made; mode and owner stay. ``real`` is resolved; everything happens below the handle of its
    folder, which is opened without following a link, so that none that is swapped in leads away.

    Raises:
        ToolError: the file is another one than ``before`` by now, or the way to it has changed.
    """
    with _folder_of(paths, real) as (name, folder):
        temporary = str(Path(name).with_name(f".hookline-{secrets.token_hex(8)}.tmp"))
        try:
            _fill(temporary, data, name, folder)
            with _commit:
                _require_unchanged(name, folder, real, before)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        _flush(folder, real.parent)
        return stamp_of(_lstat(name, folder), digest_of(data))


@contextmanager
def _folder_of(paths: Paths, real: Path) -> Iterator[tuple[str, int | None]]:
    """The name of ``real`` and a handle on its folder, which is made if it is missing."""
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


def _fill(temporary: str, data: bytes, name: str, folder: int | None) -> None:
    status = _status(name, folder)
    if status is not None and not os.access(name, os.W_OK, dir_fd=folder):
        # Replacing would need no right on the file itself, but it is meant to stay as it is.
        raise PermissionError(errno.EACCES, "the file is read-only", name)
    # Until it has the mode of the file it replaces, nobody else may look into it.
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


def _require_unchanged(name: str, folder: int | None, real: Path, before: Stamp | None) -> None:
    status = _status(name, folder)
    now = stamp_of(status) if status else None
    known = Stamp(before.mtime_ns, before.size, before.inode) if before else None
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


def _flush(folder: int | None, path: Path) -> None:
    with suppress(OSError):  # Not every platform and file system can.
        handle = os.open(path if folder is None else ".", os.O_RDONLY, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
