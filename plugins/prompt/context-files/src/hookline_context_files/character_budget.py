"""Divides a budget of characters among texts."""

from __future__ import annotations

from collections.abc import Sequence

MIN_ROOM_CHARS = 200
"""A long text gets at least this many characters, or none."""


def share(lengths: Sequence[int], budget: int) -> list[int]:
    """Return the room of each text, in order; the sum is at most ``budget``.

    Short texts get what they need, long ones equal shares of the rest. If these are smaller than
    :data:`MIN_ROOM_CHARS`, the last texts get none and the list is shorter. The first text always
    gets some.
    """
    for count in range(len(lengths), 1, -1):
        level = _level(lengths[:count], budget)
        if level >= MIN_ROOM_CHARS or max(lengths[:count]) <= level:
            return [min(length, level) for length in lengths[:count]]
    return [min(length, budget) for length in lengths[:1]]


def _level(lengths: Sequence[int], budget: int) -> int:
    """Return the largest room per text at which all texts together stay within ``budget``."""
    left = budget
    for number, length in enumerate(sorted(lengths)):
        level = left // (len(lengths) - number)
        if length > level:
            return level
        left -= length
    return budget
