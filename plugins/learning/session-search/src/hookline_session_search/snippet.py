"""Cuts the part of a message around a match."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from .tokens import fold

SNIPPET_CHARS = 300
"""Characters of a snippet."""
LEAD_CHARS = 80
"""Characters before the match."""
MAX_OCCURRENCES = 200
"""Occurrences of one word that are considered."""


def snippet(text: str, words: Sequence[str], width: int = SNIPPET_CHARS) -> str:
    """Return at most ``width`` characters of ``text`` with the most ``words``, on one line.

    ``words`` are folded (see ``tokens``); … marks omissions.
    """
    flat, offsets = _fold_with_offsets(text)
    occurrences = sorted(
        (offsets[at] if offsets else at, number)
        for number, word in enumerate(words)
        for at in _occurrences(flat, _fold_with_offsets(word)[0])
    )
    anchor = _densest(occurrences, width - LEAD_CHARS)
    start = max(0, min(anchor - LEAD_CHARS, len(text) - width))
    return shortened(text, start, start + width)


def shortened(text: str, start: int, stop: int) -> str:
    """Return that part of ``text`` on one line, with … for omissions."""
    piece = " ".join(text[start:stop].split())
    head, tail = text[:start].strip(), text[stop:].strip()
    return ("…" if head else "") + piece + ("…" if tail else "")


def _densest(occurrences: Sequence[tuple[int, int]], width: int) -> int:
    """Return the first offset with the most different words within ``width``; 0 without words."""
    best, most, first = 0, 0, 0
    inside: Counter[int] = Counter()
    for at, number in occurrences:
        inside[number] += 1
        while at - occurrences[first][0] > width:
            inside[occurrences[first][1]] -= 1
            first += 1
        found = sum(1 for count in inside.values() if count)
        if found > most:
            best, most = occurrences[first][0], found
    return best


def _occurrences(flat: str, word: str) -> list[int]:
    """Return the offsets of ``word``, of whole words if it occurs as one."""
    found: list[int] = []
    whole: list[int] = []
    at = flat.find(word) if word else -1
    while at >= 0 and len(whole) < MAX_OCCURRENCES and len(found) < 10 * MAX_OCCURRENCES:
        found.append(at)
        end = at + len(word)
        if not (_is_inside_word(flat, at) or _is_inside_word(flat, end)):
            whole.append(at)
        at = flat.find(word, end)
    return whole or found[:MAX_OCCURRENCES]


def _is_inside_word(flat: str, at: int) -> bool:
    """True if ``at`` is inside a word."""
    return 0 < at < len(flat) and _is_letter(flat[at - 1]) and _is_letter(flat[at])


def _is_letter(char: str) -> bool:
    """True for letters of scripts with spaces between words."""
    return char.isalnum() and char < "\u0e00"


def _fold_with_offsets(text: str) -> tuple[str, list[int] | None]:
    """Return ``text`` folded by character, and the offsets in ``text``; None if they are equal."""
    flat = fold(text)
    if len(flat) == len(text) and unicodedata.is_normalized("NFKD", flat):
        return flat, None
    parts, offsets = [], []
    for place, char in enumerate(text):
        part = _fold_char(char)
        parts.append(part)
        offsets += [place] * len(part)
    return "".join(parts), offsets


@lru_cache(4096)
def _fold_char(char: str) -> str:
    letters = unicodedata.normalize("NFKD", fold(char))
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")
