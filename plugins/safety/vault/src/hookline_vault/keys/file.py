"""The key in a file that only its owner can read."""

from __future__ import annotations

import base64
import os
import stat
from contextlib import suppress
from pathlib import Path

from ..envelope import KEY, Key
from .local import LocalKey, LocalSource, parse_key
from .source import KeyFault

LONGEST = 1000
"""Bytes of the file that are read."""


class FileKeys(LocalSource):
    """Reads ``vault.key`` in the home, or what ``plugins.vault.file`` names; mode 0600."""

    name = "file"

    @property
    def path(self) -> Path:
        """The file of the present key; that of the next one has ``.new`` behind it."""
        named = self.place.config.file
        return Path(named).expanduser() if named else self.place.home / "vault.key"

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the key in the file."""
        path = self._next if pending else self.path
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or error
            raise KeyFault(f"{path}: the key cannot be read: {reason}; mend that.") from None
        with os.fdopen(handle, "rb") as file:
            _require_private(os.fstat(handle), path)
            text = file.read(LONGEST).decode("ascii", "replace")
        return parse_key(text, str(path))

    def prepare(self) -> Key:
        """Write a new key beside the present one, unless an earlier call has."""
        if (left := self.read(pending=True)) is not None:
            return left
        key = os.urandom(KEY)
        path, temporary = self._next, self._next.with_name(f".{self._next.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileNotFoundError):
                temporary.unlink()
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(base64.b64encode(key) + b"\n")
                file.flush()
                os.fsync(handle)
            temporary.replace(path)
            _sync(path.parent)
        except OSError as error:
            reason = error.strerror or error
            raise KeyFault(f"{path}: the key cannot be written: {reason}; mend that.") from None
        return LocalKey(key)

    def promote(self, key: Key) -> str:
        """Put the new file in the place of the old one."""
        present = self.read(pending=False)
        if present is None or present.reference != key.reference:
            self._next.replace(self.path)
            _sync(self.path.parent)
        return f"The key is in {self.path}; keep a copy where backups of this home are not."

    @property
    def _next(self) -> Path:
        return self.path.with_name(self.path.name + ".new")


def _require_private(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyFault(f"{path} is no regular file, so that no key is read from it.")
    if os.name == "nt":
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise KeyFault(f"{path} belongs to another account, so that no key is read from it.")
    if status.st_mode & 0o077:
        raise KeyFault(
            f"{path} can be read by others (mode {stat.S_IMODE(status.st_mode):04o}), so that no "
            f"key is read from it; `chmod 600 {path}`, and `hookline vault rekey` if somebody did."
        )


def _sync(folder: Path) -> None:
    """Make what was renamed in a folder durable."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
