"""Compares an event before and after a step: which fields changed, and by how many characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

DURATION_FIELD = "seconds"
"""The field with the duration, which core fills in; it does not count as a change."""


def describe_change(old: Any, new: Any) -> dict[str, Any] | None:
    """``{fields, removed, added}`` for two events of one type; None if they are equal.

    ``removed`` and ``added`` are the characters (or bytes) from the first to the last difference,
    counted in each text separately.
    """
    changed, removed, added = [], 0, 0
    for field in fields(old):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if not field.compare or field.name == DURATION_FIELD or before is after or before == after:
            continue
        changed.append(field.name)
        less, more = extent(before, after)
        removed, added = removed + less, added + more
    return {"fields": changed, "removed": removed, "added": added} if changed else None


def extent(old: Any, new: Any) -> tuple[int, int]:
    """How many characters were removed from ``old``, and how many were added in ``new``."""
    if isinstance(old, str) and isinstance(new, str):
        return _texts(old, new)
    if isinstance(old, bytes) and isinstance(new, bytes):
        return _texts(old, new)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _sum(extent(old.get(key), new.get(key)) for key in {*old, *new})
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return _lists(old, new)
    if is_dataclass(old) and type(old) is type(new):
        return _sum(extent(getattr(old, f.name), getattr(new, f.name)) for f in _compared(old))
    return (0, 0) if old == new else (size(old), size(new))


def size(value: Any) -> int:
    """The number of characters in a value."""
    if value is None:
        return 0
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(size(key) + size(part) for key, part in value.items())
    if isinstance(value, list | tuple):
        return sum(map(size, value))
    if is_dataclass(value):
        return sum(size(getattr(value, field.name)) for field in _compared(value))
    return len(str(value))


def _compared(value: Any) -> list[Any]:
    return [field for field in fields(value) if field.compare]


def _texts(old: Any, new: Any) -> tuple[int, int]:
    start = _common(len(old), len(new), lambda n: old[:n] == new[:n])
    old, new = old[start:], new[start:]
    end = _common(len(old), len(new), lambda n: old[len(old) - n :] == new[len(new) - n :])
    return len(old) - end, len(new) - end


def _common(one: int, other: int, same: Any) -> int:
    """The length of the longest common prefix or suffix, by bisection."""
    low, high = 0, min(one, other)
    while low < high:
        middle = (low + high + 1) // 2
        if same(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _lists(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """Skip equal items at both ends; compare the remaining ones in pairs."""
    start = 0
    while start < min(len(old), len(new)) and _same(old[start], new[start]):
        start += 1
    old, new = old[start:], new[start:]
    end = 0
    while end < min(len(old), len(new)) and _same(old[-1 - end], new[-1 - end]):
        end += 1
    old, new = old[: len(old) - end], new[: len(new) - end]
    pairs = min(len(old), len(new))
    rest = (sum(map(size, old[pairs:])), sum(map(size, new[pairs:])))
    return _sum([*map(extent, old[:pairs], new[:pairs]), rest])


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)


def _sum(pairs: Any) -> tuple[int, int]:
    removed = added = 0
    for less, more in pairs:
        removed, added = removed + less, added + more
    return removed, added
