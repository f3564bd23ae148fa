"""Shares a number of characters among texts."""

from __future__ import annotations

from collections.abc import Sequence

LEAST = 200
"""Characters below which a part of a long text is not worth including."""


def share(lengths: Sequence[int], budget: int) -> list[int]:
    """Return the room of each text, in order; the sum is at most ``budget``.

    Short texts get what they need and long ones equal shares of the rest. If these would be smaller
    than :data:`LEAST`, the last texts get none (the list is shorter); the first always gets some.
    """
    for count in range(len(lengths), 1, -1):
        level = _level(lengths[:count], budget)
        if level >= LEAST or max(lengths[:count]) <= level:
            return [min(length, level) for length in lengths[:count]]
    return [min(length, budget) for length in lengths[:1]]


def _level(lengths: Sequence[int], budget: int) -> int:
    """Return the most that one text may have, so that all of them together have at most
    ``budget``."""
    left = budget
    for number, length in enumerate(sorted(lengths)):
        level = left // (len(lengths) - number)
        if length > level:
            return level
        left -= length
    return budget
