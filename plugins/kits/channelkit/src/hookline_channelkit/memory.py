"""What a process remembers of late, and how often it has heard somebody."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")
HOUR = 3600.0


class Memory(OrderedDict[K, V]):
    """A mapping of the ``most`` things that were set last."""

    def __init__(self, most: int = 1024) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)


class Hourly:
    """So much an hour of each one, and no more: two bots must not answer each other for ever.

    Args:
        most: messages an hour.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._heard: Memory[str, dict[str, float]] = Memory()

    def allows(self, who: str, message: str, at: float) -> bool:
        """Whether a message of ``at`` (Unix time) is heard; the same each time that it is asked."""
        known = {one: when for one, when in self._heard.get(who, {}).items() if when > at - HOUR}
        if message not in known and len(known) >= self._most:
            return False
        self._heard[who] = {**known, message: at}
        return True
