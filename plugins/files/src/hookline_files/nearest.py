"""The lines of a text that are most like a text that was not found in it."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from .reading import cut, numbered

COMPARED = 20_000
"""Distinct lines that are compared, so that a miss in a huge file stays quick."""
COMPARED_CHARS = 200
"""Characters of a line that are compared and shown."""
LIKENESS = 0.6
"""Least ``SequenceMatcher`` ratio worth showing; difflib's own cutoff for close matches."""
PLACES = 3
"""Places that are shown."""
SHOWN_LINES = 12
"""Lines that are shown around the best place."""

_NUMBERED = re.compile(r" *\d+\t")


def closest(text: str, wanted: str) -> str:
    """What to tell about ``wanted``, which ``text`` does not hold; line endings are ``\\n``."""
    lines = text.split("\n")
    sought = wanted.strip("\n").split("\n")
    hints = []
    if all(_NUMBERED.match(line) for line in sought):
        hints.append("leave out the line numbers that read_file shows")
        sought = [_NUMBERED.sub("", line) for line in sought]
    anchor = max(range(len(sought)), key=lambda index: len(sought[index].strip()))
    places = _places(lines, sought[anchor].strip()[:COMPARED_CHARS])
    if places:
        hints.append("the closest lines are\n" + _shown(lines, places, anchor, len(sought)))
    return "; ".join(hints) or "no line is like it; read the file again"


def _places(lines: Sequence[str], anchor: str) -> list[int]:
    """Indexes of the lines most like ``anchor``, best first."""
    first_at: dict[str, int] = {}
    for index, line in enumerate(lines):
        stripped = line.strip()[:COMPARED_CHARS]
        if stripped and len(first_at) < COMPARED:
            first_at.setdefault(stripped, index)
    matcher = SequenceMatcher(None, "", anchor, autojunk=False)
    best: list[tuple[float, int]] = []
    for line, index in first_at.items():
        floor = best[0][0] if len(best) == PLACES else LIKENESS
        matcher.set_seq1(line)
        if matcher.real_quick_ratio() < floor or matcher.quick_ratio() < floor:
            continue
        if (ratio := matcher.ratio()) >= floor:
            heapq.heappush(best, (ratio, -index))
            if len(best) > PLACES:
                heapq.heappop(best)
    return [-index for _, index in sorted(best, reverse=True)]


def _shown(lines: Sequence[str], places: Sequence[int], anchor: int, length: int) -> str:
    start = max(0, places[0] - min(anchor, SHOWN_LINES // 2))
    stop = start + min(length, SHOWN_LINES)
    parts = [_numbered(lines, start, max(stop, places[0] + 1))]
    parts += [_numbered(lines, i, i + 1) for i in places[1:] if not start <= i < stop]
    return "\n".join(parts)


def _numbered(lines: Sequence[str], start: int, stop: int) -> str:
    return numbered((cut(line, COMPARED_CHARS) for line in lines[start:stop]), start + 1)
