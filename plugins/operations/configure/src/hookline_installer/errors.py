"""How a command ends other than well: with a sentence and an exit code."""

from __future__ import annotations

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes, as everywhere in Hookline."""


class Stop(Exception):
    """The end of a command. The text is for the person; ``code`` is the exit code."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code
