"""Searches the lines of a stored text for a regular expression.

The third-party ``regex`` is used because its searches take a time limit and let other threads run;
the standard library's can hang on a pattern such as ``(a|aa)+$``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

from hookline_hookspecs import ToolError

SECONDS = 5.0
"""Seconds that a search may take."""
PATTERN_CHARS = 1_000
"""Longest pattern."""
REPEATS = 100_000
"""Largest product of all counted repeats ``{n}``: ``regex`` unrolls them as it compiles, and a
product of 10**6 takes 300 MB."""
SHOWN = 300
"""Code points shown of a line; of a longer one, the surroundings of each match are shown."""
BEFORE = 100
"""How many of them precede the match."""

PIECE = 100_000
"""A longer line is searched in pieces of this many code points, since repeated groups take memory
for each repetition. A match across two pieces is not found."""

_COUNTED = re.compile(r"\{(\d*),?(\d*)\}")
_RECURSION = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|\d|&|P>)")
"""``(?R)`` and the like: endless recursion fills the memory before the time is up."""


@dataclass(frozen=True, slots=True)
class Match:
    """A line, or a part of a long one; ``start`` is the offset of ``text`` in the whole text."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """Matches in order. ``rest`` is the offset to continue from, None at the end; ``slow`` is true
    if the time was up."""

    matches: list[Match]
    rest: int | None = None
    slow: bool = False


def search(text: str, pattern: str, start: int, room: int) -> Found:
    """Return the matches in the lines from code point ``start`` on, within ``room`` characters.

    Raises:
        ToolError: the pattern is no regular expression, too large, or too slow to find anything.
    """
    compiled = _compiled(pattern)
    deadline = monotonic() + SECONDS
    matches: list[Match] = []
    at = start
    try:
        for at, line_start, line in _lines(text, start):
            for match in _in_line(compiled, line, line_start, at, deadline):
                room -= len(match.text) + 12  # its offset and the line break
                if room < 0 and matches:
                    return Found(matches, match.start)
                matches.append(match)
    except (TimeoutError, MemoryError):
        if not matches:
            raise ToolError(
                f"the search was stopped at offset {at}, as it takes more than {SECONDS:g} s or "
                "too much memory; use a simpler pattern, or start at a larger offset"
            ) from None
        return Found(matches, at, slow=True)
    return Found(matches)


def _compiled(pattern: str) -> Any:
    import regex  # type: ignore[import-untyped]

    counts = [max(1, *(int(n[:9]) for n in p if n)) for p in _COUNTED.findall(pattern) if any(p)]
    if len(pattern) > PATTERN_CHARS or math.prod(counts) > REPEATS:
        raise ToolError(
            f"the pattern is too large: at most {PATTERN_CHARS} characters, and counted repeats "
            f"like {{3,9}} whose product is at most {REPEATS}"
        )
    if _RECURSION.search(pattern):
        raise ToolError(f"the pattern {pattern!r} calls itself, which is not supported here")
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        what = getattr(error, "msg", None) or "it is nested too deeply or counts too far"
        position = getattr(error, "pos", None)
        where = "" if position is None else f" at position {position}"
        raise ToolError(
            f"the pattern {pattern!r} is no regular expression: {what}{where}; put a backslash "
            "before characters that stand for themselves"
        ) from error


def _lines(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield for each line from ``start`` on: where to search from, where it starts, its text."""
    line_start = text.rfind("\n", 0, start) + 1
    while line_start <= len(text):
        stop = text.find("\n", line_start)
        stop = len(text) if stop < 0 else stop
        for first in range(line_start, max(stop, line_start + 1), PIECE):
            if first + PIECE > start:
                yield max(start, first), first, text[first : min(stop, first + PIECE)]
        line_start = stop + 1


def _in_line(
    compiled: Any, line: str, line_start: int, at: int, deadline: float
) -> Iterator[Match]:
    place = at - line_start
    while place <= len(line):
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        match = compiled.search(line, place, timeout=left, concurrent=True)
        if match is None:
            return
        if len(line) <= SHOWN:
            yield Match(line_start, line)
            return
        first = max(place, match.start() - BEFORE)
        last = min(len(line), first + SHOWN)
        yield Match(line_start + first, line[first:last])
        place = max(last, match.end(), match.start() + 1)
