"""Blocks whose first and last lines fit and whose middle is alike."""

from __future__ import annotations

from .folding import BLANKS, Haystack, Span

ALONE = 0.50
"""Least similarity of the middle where one place has both anchors."""
AMONG_OTHERS = 0.70
"""The same where several places have them. Both thresholds are those of Hermes Agent."""
LEAST_LINES = 3
"""With fewer there is no middle."""
CELLS = 10**10
"""Pairs of characters that are compared in all, so that a file full of anchors stays quick; beyond
that nothing counts as alike."""


def block_spans(hay: Haystack, old: str) -> list[Span]:
    """The blocks of as many lines as ``old`` that begin and end like it and are alike between.

    Similarity is ``2 * L / T``: ``L`` the length of the longest common subsequence of characters
    of the two middles, their lines trimmed, and ``T`` the length of both. An anchor of white
    space alone fits nowhere.
    """
    wanted = [line.strip(BLANKS) for line in old.removesuffix("\n").split("\n")]
    if len(wanted) < LEAST_LINES or not wanted[0].strip() or not wanted[-1].strip():
        return []
    starts = _anchored(hay.lines, wanted[0], wanted[-1], len(wanted))
    if not starts:
        return []
    middle = "\n".join(wanted[1:-1])
    least = ALONE if len(starts) == 1 else AMONG_OTHERS
    alike = _alike(hay.lines, starts, middle, len(wanted), least)
    return _spans(hay.text, alike, len(wanted), ended=old.endswith("\n"))


def _anchored(lines: list[str], first: str, last: str, length: int) -> list[int]:
    """Indexes of the lines that begin a block with both anchors."""
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
