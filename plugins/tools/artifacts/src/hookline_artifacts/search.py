"""Searches the lines of a stored text for a regular expression.

The third-party ``regex`` is used because its searches accept a timeout and do not block other
threads; those of the standard library can hang on a pattern such as ``(a|aa)+$``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

from hookline_hookspecs import ToolError

SEARCH_TIMEOUT = 5.0
"""Seconds that a search may take."""
MAX_PATTERN_CHARS = 1_000
MAX_REPEATS = 100_000
"""Largest product of all counted repeats ``{n}``. ``regex`` unrolls them when it compiles: a
product of 10**6 takes 300 MB."""
MAX_LINE_CHARS = 300
"""Code points shown of a line; a longer line is shown around each match."""
CHARS_BEFORE_MATCH = 100
"""Code points shown before the match in a long line."""

PIECE_CHARS = 100_000
"""A longer line is searched in pieces of this many code points, because repeated groups take memory
for each repetition. A match that spans two pieces is not found."""

_COUNTED = re.compile(r"\{(\d*),?(\d*)\}")
_RECURSION = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|\d|&|P>)")
"""``(?R)`` and the like: endless recursion fills the memory before the timeout."""


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line, or a part of a long one; ``start`` is the offset of ``text`` in the whole text."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Matches in order. ``rest`` is the offset to continue from, None at the end; ``slow`` is True
    if the search timed out."""

    matches: list[LineMatch]
    rest: int | None = None
    slow: bool = False


def search(text: str, pattern: str, start: int, max_chars: int) -> SearchResult:
    """Return the matches in the lines from code point ``start`` on, up to ``max_chars`` characters.

    Raises:
        ToolError: the pattern is invalid, too large, or too slow to find anything.
    """
    compiled = _compile(pattern)
    deadline = monotonic() + SEARCH_TIMEOUT
    matches: list[LineMatch] = []
    at = start
    try:
        for at, line_start, line in _lines_from(text, start):
            for match in _matches_in_line(compiled, line, line_start, at, deadline):
                max_chars -= len(match.text) + 12  # its offset and the line break
                if max_chars < 0 and matches:
                    return SearchResult(matches, match.start)
                matches.append(match)
    except (TimeoutError, MemoryError):
        if not matches:
            raise ToolError(
                f"the search was stopped at offset {at}: it takes more than {SEARCH_TIMEOUT:g} s "
                "or too much memory; use a simpler pattern, or start at a larger offset"
            ) from None
        return SearchResult(matches, at, slow=True)
    return SearchResult(matches)


def _compile(pattern: str) -> Any:
    import regex  # type: ignore[import-untyped]

    counts = [max(1, *(int(n[:9]) for n in p if n)) for p in _COUNTED.findall(pattern) if any(p)]
    if len(pattern) > MAX_PATTERN_CHARS or math.prod(counts) > MAX_REPEATS:
        raise ToolError(
            f"the pattern is too large: at most {MAX_PATTERN_CHARS} characters, and counted "
            f"repeats like {{3,9}} whose product is at most {MAX_REPEATS}"
        )
    if _RECURSION.search(pattern):
        raise ToolError(f"the pattern {pattern!r} is recursive, which is not supported")
    try:
        return regex.compile(pattern)
    except regex.error as error:
        where = "" if error.pos is None else f" at position {error.pos}"
        reason = f"{error.msg}{where}"
    except (RecursionError, OverflowError, ValueError):
        reason = "it is nested too deeply or counts too far"
    raise ToolError(
        f"the pattern {pattern!r} is not a valid regular expression: {reason}; put a backslash "
        "before literal special characters"
    )


def _lines_from(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield for each line from ``start`` on: where to search from, its offset, its text."""
    line_start = text.rfind("\n", 0, start) + 1
    while line_start <= len(text):
        stop = text.find("\n", line_start)
        stop = len(text) if stop < 0 else stop
        for first in range(line_start, max(stop, line_start + 1), PIECE_CHARS):
            if first + PIECE_CHARS > start:
                yield max(start, first), first, text[first : min(stop, first + PIECE_CHARS)]
        line_start = stop + 1


def _matches_in_line(
    compiled: Any, line: str, line_start: int, at: int, deadline: float
) -> Iterator[LineMatch]:
    position = at - line_start
    while position <= len(line):
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        match = compiled.search(line, position, timeout=left, concurrent=True)
        if match is None:
            return
        if len(line) <= MAX_LINE_CHARS:
            yield LineMatch(line_start, line)
            return
        first = max(position, match.start() - CHARS_BEFORE_MATCH)
        last = min(len(line), first + MAX_LINE_CHARS)
        yield LineMatch(line_start + first, line[first:last])
        position = max(last, match.end(), match.start() + 1)
