"""The runtime's clock in a test, for what expires, is due or has been idle."""

from __future__ import annotations

import time


class Clock:
    """Runs with the machine's clock until it is set ahead or stopped; the fixture ``clock``.

    Real time goes on: deadlines and waits do not follow it.
    """

    def __init__(self) -> None:
        self._ahead = 0.0
        self._stopped: float | None = None

    def now(self) -> float:
        """What ``host.now()`` says: Unix time in seconds."""
        return time.time() + self._ahead if self._stopped is None else self._stopped

    def ahead(self, seconds: float) -> None:
        """Run ``seconds`` ahead of the machine's clock, whatever was set before."""
        self._ahead, self._stopped = seconds, None

    def stop(self, at: float) -> None:
        """Stand still at a Unix time in seconds."""
        self._stopped = at
