"""Finds the lines of a text that are most similar to a text that was not found in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .numbering import cut, numbered

COMPARED = 20_000
"""Maximum distinct lines that are compared, so that a search in a huge file stays quick."""
COMPARED_CHARS = 200
"""Characters of a line that are compared and shown."""
LIKENESS = 0.6
"""Minimum similarity to show: twice the longest common subsequence over both lengths."""
LEAST_PART, PART_LIKENESS = 5, 0.7
"""Minimum length of a text to search for within longer lines, and its minimum similarity."""
ANCHORS = 3
"""Lines of the missing text that are searched for, longest first, until one has a match."""
PLACES = 3
"""Maximum places that are shown."""
SHOWN_LINES = 12
"""Maximum lines that are shown around the best place."""

_NUMBERED = re.compile(r" *\d+\t")


def closest(text: str, missing: str) -> str:
    """Return a hint about ``missing``, which is not in ``text``; line endings are ``\\n``."""
    lines = text.split("\n")
    sought = missing.strip("\n").split("\n")
    hints = []
    if all(_NUMBERED.match(line) for line in sought):
        hints.append("leave out the line numbers that read_file shows")
        sought = [_NUMBERED.sub("", line) for line in sought]
    by_length = sorted(range(len(sought)), key=lambda index: -len(sought[index].strip()))
    for search in (_like, _holding):
        for anchor in by_length[:ANCHORS]:
            places = search(lines, sought[anchor].strip()[:COMPARED_CHARS])
            if places:
                shown = _shown(lines, places, anchor, len(sought))
                return "; ".join((*hints, f"the closest lines are\n{shown}"))
    return "; ".join(hints) or "no line is similar; read the file again"


def _like(lines: Sequence[str], anchor: str) -> list[int]:
    """Return the indexes of lines similar to ``anchor``, best first."""
    from rapidfuzz.distance import Indel

    return _places(lines, anchor, Indel.normalized_similarity, LIKENESS)


def _holding(lines: Sequence[str], anchor: str) -> list[int]:
    """Return the indexes of longer lines that contain a text similar to ``anchor``, best first."""
    from rapidfuzz import fuzz

    if len(anchor) < LEAST_PART:
        return []
    longer = [line if len(line.strip()) > len(anchor) else "" for line in lines]
    return _places(longer, anchor, fuzz.partial_ratio, 100 * PART_LIKENESS)


def _places(
    lines: Sequence[str], anchor: str, scorer: Callable[..., float], least: float
) -> list[int]:
    from rapidfuzz import process

    first_at: dict[str, int] = {}
    for index, line in enumerate(lines):
        stripped = line.strip()[:COMPARED_CHARS]
        if stripped and len(first_at) < COMPARED:
            first_at.setdefault(stripped, index)
    found = process.extract(anchor, list(first_at), scorer=scorer, score_cutoff=least, limit=PLACES)
    return [first_at[line] for line, _, _ in sorted(found, key=lambda one: (-one[1], one[2]))]


def _shown(lines: Sequence[str], places: Sequence[int], anchor: int, length: int) -> str:
    start = max(0, places[0] - min(anchor, SHOWN_LINES // 2))
    stop = start + min(length, SHOWN_LINES)
    parts = [_numbered(lines, start, max(stop, places[0] + 1))]
    parts += [_numbered(lines, i, i + 1) for i in places[1:] if not start <= i < stop]
    return "\n".join(parts)


def _numbered(lines: Sequence[str], start: int, stop: int) -> str:
    return numbered((cut(line, COMPARED_CHARS) for line in lines[start:stop]), start + 1)
