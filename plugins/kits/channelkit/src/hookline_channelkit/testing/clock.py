"""The platform's clock, which a test can put forward: tokens expire, edits become too old."""

from __future__ import annotations

import time


class Clock:
    """Unix time that runs on, plus what a test has added. Nothing sleeps by it."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        """The time, in seconds."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let time pass at once."""
        self._ahead += seconds
