"""Indents new lines like their surroundings, which may be indented differently from ``old``."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

from .folding import BLANKS

STEP = 4
"""Columns of a level, and of a tab, if the texts do not show it."""
SAMPLED = 100_000
"""Characters of a text that are examined for its usual level."""

Pair = tuple[str, str]
"""The indentation of a line of ``old``, and of the matching line in the text."""

_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)


def indent_of(line: str) -> str:
    """Return the white space that ``line`` begins with."""
    return line[: len(line) - len(line.lstrip(BLANKS))]


class Indents:
    """Translates the model's indentation to that of the text.

    ``pairs`` are the pairs of matched lines by their index in ``old``, ``new`` the new lines, and
    ``level`` returns one level of the text.
    """

    def __init__(
        self, pairs: dict[int, Pair], new: Iterable[str], level: Callable[[], str]
    ) -> None:
        self._pairs = pairs
        self._new = tuple(new)
        self._level = level
        self._same = all(old == here for old, here in pairs.values())
        self._at: dict[str, list[int]] = {}
        for index in sorted(pairs):
            self._at.setdefault(pairs[index][0], []).append(index)

    def here(self, indent: str, at: int) -> str:
        """Return the indentation in the text for a new line near line ``at`` of ``old``.

        It is that of the nearest line that ``old`` indents the same way. Otherwise it is that of
        the nearest enclosing line, changed by the number of levels that the model put between.
        """
        if self._same:
            return indent
        if indent in self._at:
            return self._nearest(indent, at)
        outer = [old for old in self._at if indent.startswith(old)]
        if outer:
            old = max(outer, key=len)
            return self._nearest(old, at) + self._deeper(indent[len(old) :])
        columns = self._columns(indent)
        old = min(self._at, key=lambda old: abs(self._columns(old) - columns))
        levels = (columns - self._columns(old)) / self._step
        here = self._nearest(old, at)
        if levels >= 0:
            return here + self._unit * round(levels)
        return _shallower(here, self._unit, math.ceil(-levels))

    def _nearest(self, old: str, at: int) -> str:
        """Return the text's indentation of the line nearest to ``at`` with this indentation."""
        indexes = self._at[old]
        after = bisect_left(indexes, at)
        near = indexes[max(0, after - 1) : after + 1]
        return self._pairs[min(near, key=lambda index: abs(index - at))][1]

    def _deeper(self, rest: str) -> str:
        if not self._scaled and ("\t" in rest) == (self._unit == "\t"):
            return rest
        levels, beyond = divmod(self._columns(rest), self._step)
        if not levels:
            return self._unit if self._unit == "\t" else rest
        return self._unit * levels + " " * beyond

    def _columns(self, indent: str) -> int:
        return len(indent.expandtabs(self._step))

    @cached_property
    def _scaled(self) -> bool:
        """Whether the matched lines show that levels have another width in the text."""
        return self._steps is not None and self._steps[0] != self._steps[1]

    @cached_property
    def _steps(self) -> tuple[str, str] | None:
        """One level in ``old`` and in the text; None if the matched lines do not show it."""
        found = set(self._pairs.values())
        steps = [
            (inner[0][len(outer[0]) :], inner[1][len(outer[1]) :])
            for outer in found
            for inner in found
            if len(inner[0]) > len(outer[0])
            and len(inner[1]) > len(outer[1])
            and inner[0].startswith(outer[0])
            and inner[1].startswith(outer[1])
        ]
        return min(steps, key=lambda step: (len(step[0]), len(step[1])), default=None)

    @cached_property
    def _unit(self) -> str:
        """One level in the text."""
        if self._steps:
            return self._steps[1]
        if any("\t" in here for _, here in self._pairs.values()):
            return "\t"
        return self._level()

    @cached_property
    def _step(self) -> int:
        """Columns of one level in ``old`` and ``new``."""
        if self._steps and "\t" not in self._steps[0]:
            return len(self._steps[0])
        indents = {old for old, _ in self._pairs.values()} | {indent_of(line) for line in self._new}
        if any("\t" in indent for indent in indents):
            return STEP
        widths = sorted({len(indent) for indent in indents})
        gaps = [wide - narrow for narrow, wide in pairwise(widths)]
        return min((gap for gap in gaps if gap > 1), default=STEP)


def usual_level(text: str) -> str:
    """Return one level of indentation of a text: a tab, or spaces."""
    found: Sequence[str] = _INDENTED.findall(text[:SAMPLED])
    tabs = sum("\t" in indent for indent in found)
    if tabs * 2 > len(found):
        return "\t"
    widths = [len(indent) for indent in found if "\t" not in indent]
    common = [width for width in (2, 4, 8, 3) if widths and _share(widths, width) > 0.9]
    return " " * max(common, default=STEP)


def _share(widths: Sequence[int], step: int) -> float:
    """Return the share of widths that are multiples of ``step``."""
    return sum(width % step == 0 for width in widths) / len(widths)


def _shallower(indent: str, unit: str, levels: int) -> str:
    for _ in range(levels):
        if indent.endswith(unit):
            indent = indent[: -len(unit)]
        elif indent.endswith("\t"):
            indent = indent[:-1]
        else:
            spaces = len(indent) - len(indent.rstrip(" "))
            indent = indent[: len(indent) - min(spaces, len(unit))]
    return indent
