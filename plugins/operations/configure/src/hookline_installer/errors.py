"""The exit codes of the commands, and the error that ends them."""

from __future__ import annotations

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes, as everywhere in Hookline."""


class InstallerError(Exception):
    """Ends a command with a message for the person and the exit code ``code``."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code
