"""The runtime's clock in a test, for anything that expires, becomes due or goes idle."""

from __future__ import annotations

import time


class Clock:
    """Follows the machine's clock until it is moved ahead or stopped; the fixture ``clock``.

    Real time is not affected: deadlines and waits do not use it.
    """

    def __init__(self) -> None:
        self._ahead = 0.0
        self._stopped: float | None = None

    def now(self) -> float:
        """Return what ``host.now()`` returns: Unix time in seconds."""
        return time.time() + self._ahead if self._stopped is None else self._stopped

    def ahead(self, seconds: float) -> None:
        """Run ``seconds`` ahead of the machine's clock, replacing any earlier setting."""
        self._ahead, self._stopped = seconds, None

    def stop(self, at: float) -> None:
        """Stop at a Unix time in seconds."""
        self._stopped = at
