"""The eight strategies, from strict to loose. The first one that finds a place decides.

``edit_file`` reports their names. The chain comes from the edit tools of OpenCode and Hermes Agent;
here each strategy finds places that no earlier one does, and all except ``block_anchor`` require
the same words in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .anchors import block_spans
from .folding import DASH, EXACT, FLEXIBLE, RUNS, TRIMMED, TYPED, TYPOGRAPHIC, Fold, Haystack, Span


@dataclass(frozen=True, slots=True)
class Match:
    """The places of a text, ``spans`` in order, and the data for replacing it.

    ``old`` and ``new`` are the texts as the strategy read them, ``fold`` the ignored differences.
    Spans may overlap, because overlapping matches are ambiguous too. ``alike``: the place may have
    other words.
    """

    strategy: str
    spans: tuple[Span, ...]
    old: str
    new: str
    fold: Fold = EXACT
    alike: bool = False

    @property
    def white_space_alone(self) -> bool:
        """Whether the place differs from ``old`` at most in white space."""
        return self.strategy in _WHITE_SPACE


_WHITE_SPACE = {
    "exact",
    "line_trimmed",
    "whitespace_normalized",
    "indentation_flexible",
    "trimmed_boundary",
}


def find(text: str, old: str, new: str) -> Match | None:
    """Return the match of ``old`` in ``text`` by the strictest strategy that finds it.

    All texts have ``\\n`` endings, and ``old`` is not only white space.
    """
    hay = Haystack(text)
    for strategy in STRATEGIES:
        for match in strategy(hay, old, new):
            return match
    return None


def exact(hay: Haystack, old: str, new: str) -> Iterator[Match]:
    """Match the same characters."""
    spans: list[Span] = []
    at = hay.text.find(old)
    while at >= 0:
        spans.append((at, at + len(old)))
        at = hay.text.find(old, at + len(old))
    if len(spans) == 1 and (again := hay.text.find(old, spans[0][0] + 1)) >= 0:
        spans.append((again, again + len(old)))
    if spans:
        yield Match("exact", tuple(spans), old, new)


def line_trimmed(hay: Haystack, old: str, new: str) -> Iterator[Match]:
    """Match whole lines that are equal except for surrounding white space."""
    yield from _folded("line_trimmed", hay, old, new, TRIMMED)


def whitespace_normalized(hay: Haystack, old: str, new: str) -> Iterator[Match]:
    """Match any run of white space within a line with any other; before a line break also none."""
    yield from _folded("whitespace_normalized", hay, old, new, RUNS)


def indentation_flexible(hay: Haystack, old: str, new: str) -> Iterator[Match]:
    """Match like ``whitespace_normalized``, with any indentation."""
    yield from _folded("indentation_flexible", hay, old, new, FLEXIBLE)


def escape_normalized(hay: Haystack, old: str, new: str) -> Iterator[Match]:
    """Match ``old`` without one level of backslash escapes; ``new`` loses the same ones."""
    plain = _ESCAPE.sub(lambda found: _ESCAPES[found[1]], old)
    if plain == old or not plain.strip():
        return
    kinds = {found[1] for found in _ESCAPE.finditer(old)}
    kept = _ESCAPE.sub(lambda found: _ESCAPES[found[1]] if found[1] in kinds else found[0], new)
    for fold in (EXACT, FLEXIBLE):
        yield from _folded("escape_normalized", hay, plain, kept, fold)


def trimmed_boundary(hay: Haystack, old: str, new: str) -> Iterator[Match]:
    """Match ``old`` without surrounding blank lines, then without surrounding white space."""
    for trim in (_blank_lines, _around):
        core_old, core_new = _without_ends(old, new, trim)
        if core_old == old:
            continue
        for fold in (EXACT, FLEXIBLE):
            yield from _folded("trimmed_boundary", hay, core_old, core_new, fold)


def unicode_normalized(hay: Haystack, old: str, new: str) -> Iterator[Match]:
    """Match any quotes, dashes, spaces, ``…`` and ``...``, composed and decomposed letters."""
    both = (hay.text, old)
    if not any(TYPOGRAPHIC.search(text) for text in both):
        return
    kinds = TYPED if any(DASH.search(text) for text in both) else TYPED[:1]
    for fold in (EXACT, FLEXIBLE):
        for typed in kinds:
            yield from _folded("unicode_normalized", hay, old, new, fold.after(typed))


def block_anchor(hay: Haystack, old: str, new: str) -> Iterator[Match]:
    """Match equal trimmed first and last lines with a similar middle."""
    spans = block_spans(hay, old)
    if spans:
        yield Match("block_anchor", tuple(spans), old, new, FLEXIBLE, alike=True)


def _folded(name: str, hay: Haystack, old: str, new: str, fold: Fold) -> Iterator[Match]:
    if spans := hay.find(old, fold):
        yield Match(name, tuple(spans), old, new, replace(fold, whole_lines=False))


def _without_ends(old: str, new: str, trim: Callable[[str], Span]) -> tuple[str, str]:
    """Return both without the white space that ``trim`` finds around ``old``.

    ``new`` keeps white space that it has in addition.
    """
    start, end = trim(old)
    rest = new[_common(old[:start], new) :]
    trail = _common(old[end:][::-1], rest[::-1])
    return old[start:end], rest[: len(rest) - trail]


def _blank_lines(text: str) -> Span:
    """Return the span of ``text`` without surrounding blank lines."""
    start = text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1
    end = text.find("\n", len(text.rstrip()))
    return start, len(text) if end < 0 else end


def _around(text: str) -> Span:
    """Return the span of ``text`` without surrounding white space."""
    return len(text) - len(text.lstrip()), len(text.rstrip())


def _common(one: str, other: str) -> int:
    """Return the length of the common beginning."""
    length = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        length += 1
    return length


_ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "`": "`", "\\": "\\", "$": "$"}
"""The meaning of escaped characters; a carriage return belongs to line endings."""
_ESCAPE = re.compile(r"\\([ntr\"'`\\$])")

STRATEGIES: tuple[Callable[[Haystack, str, str], Iterator[Match]], ...] = (
    exact,
    line_trimmed,
    whitespace_normalized,
    indentation_flexible,
    escape_normalized,
    trimmed_boundary,
    unicode_normalized,
    block_anchor,
)
