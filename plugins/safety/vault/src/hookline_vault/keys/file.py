"""The key in a file that only its owner can read."""

from __future__ import annotations

import base64
import os
import stat
from contextlib import suppress
from pathlib import Path

from ..envelope import KEY_BYTES, WrappingKey
from .key_source import KeyUnavailable
from .local_key import LocalKey, LocalSource, parse_key

MAX_FILE_BYTES = 1000


class FileKeys(LocalSource):
    """Reads ``vault.key`` in the home, or the file ``plugins.vault.file``; mode 0600."""

    name = "file"

    @property
    def path(self) -> Path:
        """The file of the current key. The file of the next one has ``.new`` appended."""
        named = self.context.config.file
        return Path(named).expanduser() if named else self.context.home / "vault.key"

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the key in the file."""
        path = self._next if pending else self.path
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or error
            raise KeyUnavailable(f"{path}: cannot read the key: {reason}.") from None
        with os.fdopen(handle, "rb") as file:
            _check_private(os.fstat(handle), path)
            text = file.read(MAX_FILE_BYTES).decode("ascii", "replace")
        return parse_key(text, str(path))

    def prepare(self) -> WrappingKey:
        """Write a new key next to the current one, unless an earlier call did."""
        if (pending := self.read(pending=True)) is not None:
            return pending
        key = os.urandom(KEY_BYTES)
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
            _fsync_folder(path.parent)
        except OSError as error:
            reason = error.strerror or error
            raise KeyUnavailable(f"{path}: cannot write the key: {reason}.") from None
        return LocalKey(key)

    def promote(self, key: WrappingKey) -> str:
        """Replace the old file with the new one."""
        present = self.read(pending=False)
        if present is None or present.reference != key.reference:
            self._next.replace(self.path)
            _fsync_folder(self.path.parent)
        return f"The key is in {self.path}. Keep a copy, apart from the backups of this home."

    @property
    def _next(self) -> Path:
        return self.path.with_name(self.path.name + ".new")


def _check_private(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyUnavailable(f"{path}: refusing to read the key: not a regular file.")
    if os.name == "nt":
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise KeyUnavailable(
            f"{path}: refusing to read the key: the file belongs to another account."
        )
    if status.st_mode & 0o077:
        raise KeyUnavailable(
            f"{path}: refusing to read the key: other accounts can read it "
            f"(mode {stat.S_IMODE(status.st_mode):04o}). Run `chmod 600 {path}`, and "
            "`hookline vault rekey` if the key may have been read."
        )


def _fsync_folder(folder: Path) -> None:
    """Make a rename in a folder durable."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
