"""A text file on disk: read with care, locked, written whole or not at all."""

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

LARGEST = 1_000_000
"""Bytes of the largest file that is read."""
WAIT = 10.0
"""Seconds to wait for another process."""
# A pipe must not hold up the opening.
_PLAIN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class FileProblem(HooklineError):
    """A file cannot be used; the text says which, why and what to do."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file; ``name`` is what people call it, its path under the home with ``/``."""

    path: Path
    name: str

    @property
    def real(self) -> Path:
        """What a link leads to: that is replaced, not the link."""
        return Path(os.path.realpath(self.path))

    def read(self) -> bytes | None:
        """What is on disk; None if there is no file.

        Raises:
            FileProblem: no regular file, no permission, or more than :data:`LARGEST` bytes.
        """
        try:
            data = self._bytes()
        except OSError as error:
            why = error.strerror or str(error)
            raise FileProblem(f"{self.name} cannot be read: {why}; it was left alone") from None
        if data is not None and len(data) > LARGEST:
            raise FileProblem(f"{self.name} has more than {LARGEST:,} bytes; shorten it by hand")
        return data

    def decoded(self, data: bytes) -> str:
        """``data`` as text. Raises ``FileProblem`` if it is not UTF-8."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FileProblem(
                f"{self.name} is not UTF-8 (byte {error.start + 1}); save it as UTF-8. "
                "It was left alone"
            ) from None

    def write(self, data: bytes) -> None:
        """Replace it whole: beside it first, then on disk, then in its place; its mode stays.

        The caller holds the lock. Raises ``FileProblem``; the old file is whole then.
        """
        path = self.real
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(path, data, _mode(path))
        except OSError as error:
            why = error.strerror or str(error)
            raise FileProblem(f"{self.name} cannot be written: {why}; it is as it was") from error

    def _bytes(self) -> bytes | None:
        try:
            handle = os.open(self.real, _PLAIN)
        except FileNotFoundError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(0, "it is no regular file")
            found = b""
            while len(found) <= LARGEST and (piece := os.read(handle, LARGEST + 1)):
                found += piece
            return found
        finally:
            os.close(handle)


@contextmanager
def locked(files: Iterable[TextFile], folder: Path) -> Iterator[None]:
    """Keep other processes from writing ``files``; the locks lie in ``folder``.

    Raises ``FileProblem`` if another process keeps one for longer than :data:`WAIT`.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    by_path = {str(file.real): file for file in files}
    with ExitStack() as stack:
        # In one order for all, so that two processes do not wait for each other.
        for path, file in sorted(by_path.items()):
            digest = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
            try:
                lock = FileLock(folder / f"{digest}.lock", timeout=WAIT, mode=0o600)
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
