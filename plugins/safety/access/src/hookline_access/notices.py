"""Limits how often admins are notified of unknown people."""

from __future__ import annotations

from typing import Literal

from hookline_hookspecs import Host

MAX_PER_WINDOW = 5
"""People who each get an own notice to admins within :data:`WINDOW_SECONDS`."""
WINDOW_SECONDS = 600.0


class StrangerNotices:
    """Counts the notices of this process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._began = 0.0
        self._count = 0

    def next(self) -> Literal["each", "more", "none"]:
        """How to notify admins of one more person: by name, as one of many, or not at all."""
        now = self._host.now()
        if now >= self._began + WINDOW_SECONDS:
            self._began, self._count = now, 0
        self._count += 1
        if self._count <= MAX_PER_WINDOW:
            return "each"
        return "more" if self._count == MAX_PER_WINDOW + 1 else "none"
