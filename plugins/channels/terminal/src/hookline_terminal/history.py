"""Messages typed in all chats, in a file of bounded size with mode 0600."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory

FILE_NAME = "history"
MAX_FILE_BYTES = 2_000_000
"""When a chat starts with a larger file, the older half is dropped."""
MAX_MESSAGE_BYTES = 100_000
"""A longer message is stored with its labels instead of its pastes."""


class BoundedHistory(FileHistory):
    """A history file of about :data:`MAX_FILE_BYTES` at most.

    Args:
        folder: the folder of the file.
        fold: returns how a stored message is shown.
        expand: returns how a message is stored.
    """

    def __init__(
        self, folder: Path, fold: Callable[[str], str], expand: Callable[[str], str]
    ) -> None:
        self._fold = fold
        self._expand = expand
        file = folder / FILE_NAME
        file.touch(mode=0o600)
        file.chmod(0o600)
        _shorten(file)
        super().__init__(str(file))

    def load_history_strings(self) -> Iterable[str]:
        """Return the messages, newest first."""
        return map(self._fold, super().load_history_strings())

    def store_string(self, string: str) -> None:
        """Append a message to the file, with its pastes in full unless it is too long."""
        text = self._expand(string)
        fits = len(text.encode("utf-8", "replace")) <= MAX_MESSAGE_BYTES
        super().store_string(text if fits else string)


def _shorten(file: Path) -> None:
    """Drop the older half of a file that is too large."""
    if file.stat().st_size <= MAX_FILE_BYTES:
        return
    data = file.read_bytes()[-MAX_FILE_BYTES // 2 :]
    kept = data[max(0, data.find(b"\n# ")) :]
    new = file.with_name(f"{file.name}.new")
    new.touch(mode=0o600)
    new.write_bytes(kept)
    new.replace(file)
