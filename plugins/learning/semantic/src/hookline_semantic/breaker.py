"""A circuit breaker for the embedding server."""

from __future__ import annotations

from time import monotonic

FIRST_PAUSE = 2.0
"""Seconds without requests after the first failure; each further failure doubles them."""
MAX_PAUSE = 300.0


class CircuitBreaker:
    """Open for a while after a failure, longer after each; a success closes it."""

    def __init__(self) -> None:
        self._until = 0.0
        self._pause = 0.0
        self.why = ""

    @property
    def open(self) -> bool:
        """True if no request should be made now."""
        return monotonic() < self._until

    def failed(self, why: str) -> bool:
        """Record a failure; return True if it is the first in a row."""
        first = not self._pause
        if not self.open:
            self._pause = min(MAX_PAUSE, self._pause * 2 or FIRST_PAUSE)
            self._until = monotonic() + self._pause
        self.why = why
        return first

    def succeeded(self) -> None:
        """Record a success."""
        self._until = self._pause = 0.0
        self.why = ""
