"""How often admins are told of strangers: a flood of them is told in one sentence."""

from __future__ import annotations

from typing import Literal

from hookline_hookspecs import Host

EACH = 5
"""Strangers of whom admins are told one by one in :data:`SECONDS`."""
SECONDS = 600.0


class Notices:
    """Counts, in this process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._began = 0.0
        self._told = 0

    def next(self) -> Literal["each", "more", "none"]:
        """How admins are told of one more stranger: by name, as one of many, or not at all."""
        now = self._host.now()
        if now >= self._began + SECONDS:
            self._began, self._told = now, 0
        self._told += 1
        if self._told <= EACH:
            return "each"
        return "more" if self._told == EACH + 1 else "none"
