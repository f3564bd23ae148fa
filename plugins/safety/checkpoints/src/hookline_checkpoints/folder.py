"""Files below one folder, reached component by component, so that no link is ever followed.

Programs running in the folder may swap a component for a link at any moment; a write then fails
instead of following it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from .folder_state import FileStamp

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC
_LINK_ERRORS = frozenset({errno.ELOOP, errno.EMLINK})
"""Errors of opening a link on POSIX and FreeBSD."""
_MAX_OPEN_FOLDERS = 64
_MAX_READ_ATTEMPTS = 3
_READ_BYTES = 1_000_000


class Folder:
    """An open folder. Methods take paths relative to it and raise ``OSError``."""

    def __init__(self, path: Path) -> None:
        self._root = os.open(path, _FOLDER)
        self._handles: OrderedDict[str, int] = OrderedDict()
        self._loosened: dict[str, int] = {}

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in (*self._handles.values(), self._root):
            os.close(handle)

    def stamp(self, path: str) -> FileStamp | None:
        """Return the stamp of ``path``, of a link itself; None if the path does not exist."""
        try:
            parent, name = self._at(path)
            return FileStamp.of(os.stat(name, dir_fd=parent, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            raise

    def read(self, path: str, limit: int) -> tuple[FileStamp, bytes]:
        """Return stamp and content of a file, or a link's target; at most ``limit`` + 1 bytes. A
        file that is written meanwhile is read again, a few times. Then the last content is returned
        with the stamp from before, so that the next survey finds it changed."""
        parent, name = self._at(path)
        for _ in range(_MAX_READ_ATTEMPTS):
            try:
                handle = os.open(name, _READ, dir_fd=parent)
            except OSError as error:
                if error.errno not in _LINK_ERRORS:
                    raise
                stamp = FileStamp.of(os.stat(name, dir_fd=parent, follow_symlinks=False))
                return stamp, os.fsencode(os.readlink(name, dir_fd=parent))
            try:
                before = FileStamp.of(os.fstat(handle))
                if not stat.S_ISREG(before.mode):
                    raise OSError(errno.EINVAL, "not a regular file", path)
                content = _content(handle, before.size, limit)
                if FileStamp.of(os.fstat(handle)) == before and len(content) == before.size:
                    break
            finally:
                os.close(handle)
        return before, content

    def write(self, path: str, content: bytes, mode: int) -> None:
        """Replace ``path`` atomically by a file; ``mode`` holds all mode bits."""
        parent, name, temporary = self._beside(path)
        descriptor = os.open(temporary, _CREATE, 0o600, dir_fd=parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fchmod(stream.fileno(), mode)
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise

    def link(self, path: str, target: bytes) -> None:
        """Replace ``path`` by a symbolic link."""
        parent, name, temporary = self._beside(path)
        os.symlink(os.fsdecode(target), temporary, dir_fd=parent)
        try:
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise

    def chmod(self, path: str, mode: int) -> None:
        """Set the mode of a file or folder that is not a link."""
        parent, name = self._at(path)
        handle = os.open(name, _READ, dir_fd=parent)
        try:
            os.fchmod(handle, mode)
        finally:
            os.close(handle)

    def make(self, path: str) -> None:
        """Make a folder if it is missing."""
        parent, name = self._writable(path)
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)

    def remove(self, path: str) -> None:
        """Remove a file or link."""
        parent, name = self._writable(path)
        os.unlink(name, dir_fd=parent)

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        self._close_below(path)
        parent, name = self._writable(path)
        os.rmdir(name, dir_fd=parent)

    def tighten(self) -> None:
        """Restore the modes of folders that had to be made writable."""
        for path, mode in self._loosened.items():
            with suppress(OSError):
                os.fchmod(self._handle(path), mode)
        self._loosened.clear()

    def _beside(self, path: str) -> tuple[int, str, str]:
        """Yield the parent's handle, the name, and a name for a temporary file beside it."""
        parent, name = self._writable(path)
        return parent, name, f".hookline-{secrets.token_hex(8)}.tmp"

    def _writable(self, path: str) -> tuple[int, str]:
        """Like ``_at``, but a read-only folder that this user owns is made writable meanwhile."""
        parent, name = self._at(path)
        found = os.fstat(parent)
        if found.st_mode & 0o300 != 0o300 and found.st_uid == os.geteuid():
            os.fchmod(parent, stat.S_IMODE(found.st_mode) | 0o700)
            self._loosened.setdefault(path.rpartition("/")[0], stat.S_IMODE(found.st_mode))
        return parent, name

    def _at(self, path: str) -> tuple[int, str]:
        """Yield a handle on the parent folder of ``path``, and the last name."""
        above, _, name = path.rpartition("/")
        return self._handle(above), name

    def _handle(self, path: str) -> int:
        if not path:
            return self._root
        found = self._handles.get(path)
        if found is None:
            parent, name = self._at(path)
            found = self._handles[path] = os.open(name, _FOLDER, dir_fd=parent)
            while len(self._handles) > _MAX_OPEN_FOLDERS:
                os.close(self._handles.popitem(last=False)[1])
        self._handles.move_to_end(path)
        return found

    def _close_below(self, path: str) -> None:
        below = [
            opened for opened in self._handles if opened == path or opened.startswith(path + "/")
        ]
        for one in below:
            os.close(self._handles.pop(one))


def _content(handle: int, expected: int, limit: int) -> bytes:
    """Read to the end, which should be at ``expected``; at most ``limit`` + 1 bytes."""
    content = os.read(handle, min(expected, limit) + 1)
    while 0 < len(content) <= limit and len(content) != expected:
        more = os.read(handle, min(_READ_BYTES, limit + 1 - len(content)))
        if not more:
            break
        content += more
    return content
