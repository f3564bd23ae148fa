"""Keeps everybody from asking a server that does not answer."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

FIRST, LONGEST = 2.0, 300.0
"""Seconds for which nobody asks after the first failure, and at most; each one doubles them."""


class Breaker:
    """Open after a failure, for longer after each one; a success closes it."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until = 0.0
        self._pause = 0.0
        self.why = ""

    @property
    def open(self) -> bool:
        """Whether nobody should ask now."""
        return self._clock() < self._until

    def failed(self, why: str) -> bool:
        """Note a failure; True if it is the first of a row."""
        first = not self._pause
        if not self.open:
            self._pause = min(LONGEST, self._pause * 2 or FIRST)
            self._until = self._clock() + self._pause
        self.why = why
        return first

    def succeeded(self) -> None:
        """Note that it answers."""
        self._until = self._pause = 0.0
        self.why = ""
