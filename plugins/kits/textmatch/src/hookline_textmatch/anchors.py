"""Finds blocks whose first and last lines match and whose middle is similar."""

from __future__ import annotations

from .folding import BLANKS, Haystack, Span

ALONE = 0.50
"""Minimum similarity of the middle if only one place has both anchors."""
AMONG_OTHERS = 0.70
"""The same if several places have them. Both thresholds are those of Hermes Agent."""
LEAST_LINES = 3
"""Shorter texts have no middle."""
CELLS = 10**10
"""Maximum pairs of characters that are compared, so that a file full of anchors stays quick. With
more, nothing counts as similar."""


def block_spans(hay: Haystack, old: str) -> list[Span]:
    """Return blocks of the length of ``old`` with its first and last line and a similar middle.

    Similarity is ``2 * L / T``: ``L`` is the length of the longest common subsequence of characters
    of the two middles, with trimmed lines, and ``T`` the length of both. An anchor of only white
    space never matches.
    """
    old_lines = [line.strip(BLANKS) for line in old.removesuffix("\n").split("\n")]
    if len(old_lines) < LEAST_LINES or not old_lines[0].strip() or not old_lines[-1].strip():
        return []
    starts = _anchored(hay.lines, old_lines[0], old_lines[-1], len(old_lines))
    if not starts:
        return []
    middle = "\n".join(old_lines[1:-1])
    least = ALONE if len(starts) == 1 else AMONG_OTHERS
    alike = _alike(hay.lines, starts, middle, len(old_lines), least)
    return _spans(hay.text, alike, len(old_lines), ended=old.endswith("\n"))


def _anchored(lines: list[str], first: str, last: str, length: int) -> list[int]:
    """Return the indexes of lines that begin a block with both anchors."""
    beyond = length - 1
    ends = enumerate(lines[beyond:])
    return [at for at, line in ends if line == last and lines[at] == first]


def _alike(
    lines: list[str], starts: list[int], middle: str, length: int, least: float
) -> list[int]:
    from rapidfuzz.distance import Indel

    found = []
    left = CELLS
    known: dict[str, bool] = {}
    for at in starts:
        other = "\n".join(lines[at + 1 : at + length - 1])
        if other not in known:
            left -= len(middle) * len(other)
            if left < 0:
                return []
            score = Indel.normalized_similarity(middle, other, score_cutoff=least)
            known[other] = score >= least
        if known[other]:
            found.append(at)
    return found


def _spans(text: str, starts: list[int], length: int, *, ended: bool) -> list[Span]:
    if not starts:
        return []
    edges = [0]
    for line in text.split("\n"):
        edges.append(edges[-1] + len(line) + 1)
    beyond = 0 if ended else 1
    return [(edges[at], min(edges[at + length] - beyond, len(text))) for at in starts]
