"""Finds the equal parts of two sequences, by their longest common subsequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

CELLS = 10**8
"""With more pairs of elements, only the common beginning and end count as equal."""

Stretch = tuple[bool, int, int, int, int]
"""``(same, start, end, other_start, other_end)``."""


def stretches(one: Sequence[str], other: Sequence[str]) -> Iterator[Stretch]:
    """Yield both sequences in order, as alternating equal and unequal stretches."""
    head = _common(one, other)
    tail = _common(one[head:][::-1], other[head:][::-1])
    ends = len(one) - tail, len(other) - tail
    if head:
        yield True, 0, head, 0, head
    yield from _between(one[head : ends[0]], other[head : ends[1]], head)
    if tail:
        yield True, ends[0], len(one), ends[1], len(other)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        length += 1
    return length


def _between(one: Sequence[str], other: Sequence[str], at: int) -> Iterator[Stretch]:
    if not one and not other:
        return
    if not one or not other or len(one) * len(other) > CELLS:
        yield False, at, at + len(one), at, at + len(other)
        return
    from rapidfuzz.distance import LCSseq

    numbers: dict[str, int] = {}
    left = [numbers.setdefault(element, len(numbers)) for element in one]
    right = [numbers.setdefault(element, len(numbers)) for element in other]
    start = other_start = 0
    for block in LCSseq.editops(left, right).as_matching_blocks():
        if start < block.a or other_start < block.b:
            yield False, at + start, at + block.a, at + other_start, at + block.b
        start, other_start = block.a + block.size, block.b + block.size
        if block.size:
            yield True, at + block.a, at + start, at + block.b, at + other_start
    if start < len(one) or other_start < len(other):
        yield False, at + start, at + len(one), at + other_start, at + len(other)
