"""A text file on disk that is read safely, locked, and replaced atomically."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import HooklineError

MAX_FILE_BYTES = 1_000_000
"""Maximum size of a file that is read."""
LOCK_TIMEOUT = 10.0
"""Seconds to wait for another process."""
# O_NONBLOCK, so that opening a pipe does not block.
_PLAIN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class FileProblem(HooklineError):
    """A file cannot be used; the text says which, why and what to do."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file; ``name`` is shown to people: its path in the home, with ``/``."""

    path: Path
    name: str

    @property
    def real(self) -> Path:
        """The file itself: if ``path`` is a link, its target is replaced, not the link."""
        return Path(os.path.realpath(self.path))

    def read(self) -> bytes | None:
        """Return the file's content; None if there is no file.

        Raises:
            FileProblem: not a regular file, no permission, or over :data:`MAX_FILE_BYTES`.
        """
        try:
            data = self._bytes()
        except OSError as error:
            why = error.strerror or str(error)
            raise FileProblem(f"{self.name} cannot be read: {why}; it was not changed") from None
        if data is not None and len(data) > MAX_FILE_BYTES:
            limit = f"{MAX_FILE_BYTES:,}"
            raise FileProblem(f"{self.name} has more than {limit} bytes; shorten it by hand")
        return data

    def decoded(self, data: bytes) -> str:
        """Decode ``data``. Raises ``FileProblem`` if it is not UTF-8."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FileProblem(
                f"{self.name} is not UTF-8 (byte {error.start + 1}); save it as UTF-8. "
                "It was not changed"
            ) from None

    def write(self, data: bytes) -> None:
        """Replace the file atomically and keep its mode. The caller holds the lock.

        Raises ``FileProblem``; the old file is then unchanged.
        """
        path = self.real
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(path, data, _mode(path))
        except OSError as error:
            why = error.strerror or str(error)
            text = f"{self.name} cannot be written: {why}; it was not changed"
            raise FileProblem(text) from error

    def _bytes(self) -> bytes | None:
        try:
            handle = os.open(self.real, _PLAIN)
        except FileNotFoundError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(0, "it is not a regular file")
            data = b""
            while len(data) <= MAX_FILE_BYTES and (chunk := os.read(handle, MAX_FILE_BYTES + 1)):
                data += chunk
            return data
        finally:
            os.close(handle)


@contextmanager
def locked(files: Iterable[TextFile], folder: Path) -> Iterator[None]:
    """Lock ``files`` against writes by other processes; the lock files are in ``folder``.

    Raises ``FileProblem`` if another process holds a lock for longer than :data:`LOCK_TIMEOUT`.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    by_path = {str(file.real): file for file in files}
    with ExitStack() as stack:
        # In a fixed order, so that two processes do not wait for each other.
        for path, file in sorted(by_path.items()):
            digest = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
            try:
                lock = FileLock(folder / f"{digest}.lock", timeout=LOCK_TIMEOUT, mode=0o600)
                stack.enter_context(lock)
            except Timeout:
                raise FileProblem(f"another process is writing {file.name}; try again") from None
        yield


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0o600


def _replace(path: Path, data: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
