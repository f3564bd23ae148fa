"""One gateway for a bot: a second one on this machine with the same token is refused."""

from __future__ import annotations

import errno
import hashlib
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from .errors import CannotStart

FOLDER = Path(".local", "state", "hookline", "bots")
"""In the user's home, where there are no abstract sockets."""


class Account:
    """The claim on a bot, held while its channel runs; it ends with the process, however that dies.

    On Linux it is an abstract socket's name, which every process of the machine sees, whoever runs
    it and with whatever home and folder for temporary files; it leaves no file. Elsewhere it is a
    locked file in the user's home. What runs in a container, or on another machine, is not seen.

    Args:
        identity: what only one gateway may use, usually a token; only a hash of it is shown.
        folder: where a file is locked, instead.
    """

    def __init__(self, identity: str, folder: Path | None = None) -> None:
        salted = b"hookline bot\0" + identity.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(salted, digest_size=12).hexdigest()
        self.name = f"hookline-bot-{digest}" if identity else ""
        self._folder = folder
        self._held: _Held | None = None

    def claim(self) -> None:
        """Take it. Raises :class:`CannotStart` if somebody else has it."""
        if not self.name or self._held is not None:
            return
        has_names = sys.platform == "linux" and self._folder is None
        try:
            self._held = _named(self.name) if has_names else self._locked()
        except OSError as error:
            raise CannotStart(
                f"whether another gateway receives for the same bot cannot be known "
                f"({error.strerror}); look at {self._file.parent}"
            ) from None
        if self._held is None:
            raise CannotStart(
                "another gateway on this machine receives for the same bot, or another channel of "
                "this one; end that, or give this one a bot of its own"
            )

    def release(self) -> None:
        """Let others have it."""
        held, self._held = self._held, None
        if held is not None:
            held.close()

    @property
    def _file(self) -> Path:
        return (self._folder or Path.home() / FOLDER) / f"{self.name}.lock"

    def _locked(self) -> _Held | None:
        from filelock import FileLock, Timeout

        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._file, mode=0o600)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        held = ExitStack()
        held.callback(lock.release)
        return held


class _Held(Protocol):
    def close(self) -> object: ...


def _named(name: str) -> _Held | None:
    """A name of the machine's; None if it is taken."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        held.bind(f"\0{name}")
    except OSError as error:
        held.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return held
