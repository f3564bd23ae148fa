"""What was typed in all chats, in a file of bounded size that only the person can read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory

NAME = "history"
"""The file, in the plugin's own folder."""
LARGEST = 2_000_000
"""Bytes above which the older half is dropped, when a chat begins."""
LONGEST = 100_000
"""Bytes of a message that is remembered."""


class BoundedHistory(FileHistory):
    """A history file of at most about :data:`LARGEST` bytes, with mode 0600.

    Args:
        folder: where the file is.
        fold: how a long message is shown when it is called back.
        expand: what a message is remembered as.
    """

    def __init__(
        self, folder: Path, fold: Callable[[str], str], expand: Callable[[str], str]
    ) -> None:
        self._fold = fold
        self._expand = expand
        file = folder / NAME
        file.touch(mode=0o600)
        file.chmod(0o600)
        _shorten(file)
        super().__init__(str(file))

    def load_history_strings(self) -> Iterable[str]:
        """The messages, newest first."""
        return map(self._fold, super().load_history_strings())

    def store_string(self, string: str) -> None:
        """Append a message to the file as it was sent, with the words of its pastes."""
        text = self._expand(string)
        super().store_string(text if len(text.encode("utf-8", "replace")) <= LONGEST else string)


def _shorten(file: Path) -> None:
    """Keep the newer half of a file that has become too large."""
    if file.stat().st_size <= LARGEST:
        return
    data = file.read_bytes()[-LARGEST // 2 :]
    kept = data[max(0, data.find(b"\n# ")) :]
    new = file.with_name(f"{file.name}.new")
    new.touch(mode=0o600)
    new.write_bytes(kept)
    new.replace(file)
