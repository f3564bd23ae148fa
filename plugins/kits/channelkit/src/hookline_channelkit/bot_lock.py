"""Refuses a second gateway on this machine with the same bot."""

from __future__ import annotations

import errno
import hashlib
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from .errors import CannotStart

LOCK_FOLDER = Path(".local", "state", "hookline", "bots")
"""In the user's home, on systems without abstract sockets."""


class BotLock:
    """A lock on a bot, held while its channel runs, at most until the process ends.

    On Linux it is the name of an abstract socket. Every process of the machine sees it, with any
    user, home and ``TMPDIR``, and it leaves no file. Elsewhere it is a locked file in the user's
    home. Processes in a container or on another machine are not detected.

    Args:
        identity: the bot's identity, usually a token; only its hash is visible.
        folder: a folder in which to lock a file instead.
    """

    def __init__(self, identity: str, folder: Path | None = None) -> None:
        salted = b"hookline bot\0" + identity.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(salted, digest_size=12).hexdigest()
        self.name = f"hookline-bot-{digest}" if identity else ""
        self._folder = folder
        self._lock: _Lock | None = None

    def acquire(self) -> None:
        """Acquire the lock. Raises :class:`CannotStart` if another gateway holds it."""
        if not self.name or self._lock is not None:
            return
        use_socket = sys.platform == "linux" and self._folder is None
        try:
            self._lock = _bind_socket(self.name) if use_socket else self._lock_file()
        except OSError as error:
            raise CannotStart(
                f"cannot tell whether another gateway uses the same bot ({error.strerror}); "
                f"check {self._path.parent}"
            ) from None
        if self._lock is None:
            raise CannotStart(
                "another gateway on this machine, or another channel of this one, uses the same "
                "bot; stop it, or use another bot for this channel"
            )

    def release(self) -> None:
        """Release the lock."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()

    @property
    def _path(self) -> Path:
        return (self._folder or Path.home() / LOCK_FOLDER) / f"{self.name}.lock"

    def _lock_file(self) -> _Lock | None:
        from filelock import FileLock, Timeout

        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file_lock = FileLock(self._path, mode=0o600)
        try:
            file_lock.acquire(timeout=0)
        except Timeout:
            return None
        lock = ExitStack()
        lock.callback(file_lock.release)
        return lock


class _Lock(Protocol):
    def close(self) -> object: ...


def _bind_socket(name: str) -> _Lock | None:
    """Bind an abstract socket; None if the name is taken."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        bound.bind(f"\0{name}")
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return bound
