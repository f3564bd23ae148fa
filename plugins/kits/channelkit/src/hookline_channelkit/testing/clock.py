"""The platform's clock, which a test can advance: tokens expire, messages get too old to edit."""

from __future__ import annotations

import time


class Clock:
    """Unix time that runs on, plus what a test has added. Nothing sleeps by it."""

    def __init__(self) -> None:
        self._offset = 0.0

    def __call__(self) -> float:
        """The time, in seconds."""
        return time.time() + self._offset

    def advance(self, seconds: float) -> None:
        """Let time pass at once."""
        self._offset += seconds
