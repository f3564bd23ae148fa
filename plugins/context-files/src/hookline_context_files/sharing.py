"""How a number of characters is shared among texts."""

from __future__ import annotations

from collections.abc import Sequence

LEAST = 200
"""Characters below which a part of a long text says too little to be worth its place."""


def share(lengths: Sequence[int], budget: int) -> list[int]:
    """The room of each text, in their order; the sum is at most ``budget``.

    Short texts get what they need and long ones equal parts of the rest. Where these would be
    smaller than :data:`LEAST`, the last texts get none (the list is shorter); the first always
    gets something.
    """
    for count in range(len(lengths), 1, -1):
        level = _level(lengths[:count], budget)
        if level >= LEAST or max(lengths[:count]) <= level:
            return [min(length, level) for length in lengths[:count]]
    return [min(length, budget) for length in lengths[:1]]


def _level(lengths: Sequence[int], budget: int) -> int:
    """The most that one text may have, so that all of them have at most ``budget`` together."""
    left = budget
    for number, length in enumerate(sorted(lengths)):
        level = left // (len(lengths) - number)
        if length > level:
            return level
        left -= length
    return budget
