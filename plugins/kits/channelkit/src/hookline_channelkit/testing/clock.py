"""The platform's clock, which a test can advance: tokens expire, messages get too old to edit."""

from __future__ import annotations

import time


class Clock:
    """Unix time plus the seconds that a test has added. No sleep depends on it."""

    def __init__(self) -> None:
        self._offset = 0.0

    def __call__(self) -> float:
        """Return the time, in seconds."""
        return time.time() + self._offset

    def advance(self, seconds: float) -> None:
        """Add seconds."""
        self._offset += seconds
