"""Files that came with a message: they lie in Hookline's home and may be read by that chat."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class ReceivedFiles(Protocol):
    """What a guard of paths offers besides the contract; for ``isinstance``."""

    def give(self, path: Path) -> None:
        """Let a file below ``media`` in home be read as long as the session is in memory."""

    def is_given(self, path: Path) -> bool:
        """Whether `give` was called for the resolved path, which is then only read."""
