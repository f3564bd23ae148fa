"""One gateway for a bot: a second one on this machine with the same token is refused."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import CannotStart

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Account:
    """The lock on a bot, held while its channel runs, in the folder for temporary files.

    Another home's gateway finds it there, too; one on another machine does not. The operating
    system frees it when the process dies.

    Args:
        identity: what only one gateway may use, usually a token; only a hash of it is written.
    """

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._lock: BaseFileLock | None = None

    def claim(self) -> None:
        """Take the lock. Raises :class:`CannotStart` if somebody else has it."""
        if not self._identity or self._lock is not None:
            return
        from filelock import FileLock, Timeout

        lock = FileLock(self.path, mode=0o600)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise CannotStart(
                "another gateway on this machine receives for the same bot, or another channel of "
                "this one; end that, or give this one a bot of its own"
            ) from None
        except OSError as error:
            raise CannotStart(
                f"the lock {self.path} cannot be taken ({error.strerror}); another user's gateway "
                "may run this bot"
            ) from None
        self._lock = lock

    def release(self) -> None:
        """Let others have it."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def path(self) -> Path:
        """The lock's file; its name tells nothing of the token."""
        salted = b"hookline bot\0" + self._identity.encode("utf-8", "surrogatepass")
        name = hashlib.blake2b(salted, digest_size=12).hexdigest()
        return Path(tempfile.gettempdir()) / f"hookline-bot-{name}-{_user()}.lock"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0
