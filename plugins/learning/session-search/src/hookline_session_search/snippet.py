"""Cuts the window of a message around a match."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from .tokens import folded

WIDTH = 300
"""Characters of a window."""
LEAD = 80
"""Characters of it before the match."""
MOST_SPOTS = 200
"""Occurrences of one word that are compared."""


def snippet(text: str, words: Sequence[str], width: int = WIDTH) -> str:
    """Return at most ``width`` characters of ``text`` with the most ``words``, on one line.

    ``words`` are folded (see ``tokens``); … marks what is left out.
    """
    flat, places = _flat(text)
    spots = sorted(
        (places[at] if places else at, number)
        for number, word in enumerate(words)
        for at in _spots(flat, _flat(word)[0])
    )
    anchor = _densest(spots, width - LEAD)
    start = max(0, min(anchor - LEAD, len(text) - width))
    return shortened(text, start, start + width)


def shortened(text: str, start: int, stop: int) -> str:
    """Return that part of ``text`` on one line, with … where something is left out."""
    piece = " ".join(text[start:stop].split())
    head, tail = text[:start].strip(), text[stop:].strip()
    return ("…" if head else "") + piece + ("…" if tail else "")


def _densest(spots: Sequence[tuple[int, int]], width: int) -> int:
    """Return the first offset with the most different words within ``width``; 0 if there are
    none."""
    best, most, first = 0, 0, 0
    inside: Counter[int] = Counter()
    for at, number in spots:
        inside[number] += 1
        while at - spots[first][0] > width:
            inside[spots[first][1]] -= 1
            first += 1
        found = sum(1 for count in inside.values() if count)
        if found > most:
            best, most = spots[first][0], found
    return best


def _spots(flat: str, word: str) -> list[int]:
    """Yield the offsets of ``word``, as a whole word if it occurs as one."""
    found: list[int] = []
    whole: list[int] = []
    at = flat.find(word) if word else -1
    while at >= 0 and len(whole) < MOST_SPOTS and len(found) < 10 * MOST_SPOTS:
        found.append(at)
        end = at + len(word)
        if not (_joined(flat, at) or _joined(flat, end)):
            whole.append(at)
        at = flat.find(word, end)
    return whole or found[:MOST_SPOTS]


def _joined(flat: str, at: int) -> bool:
    """Return whether ``at`` is inside a word."""
    return 0 < at < len(flat) and _is_letter(flat[at - 1]) and _is_letter(flat[at])


def _is_letter(sign: str) -> bool:
    """Return whether it is a letter of a script with spaces between words."""
    return sign.isalnum() and sign < "\u0e00"


def _flat(text: str) -> tuple[str, list[int] | None]:
    """Return ``text`` folded character by character, and the offset of each in ``text``; None if
    they are the same."""
    flat = folded(text)
    if len(flat) == len(text) and unicodedata.is_normalized("NFKD", flat):
        return flat, None
    parts, places = [], []
    for place, sign in enumerate(text):
        part = _flat_sign(sign)
        parts.append(part)
        places += [place] * len(part)
    return "".join(parts), places


@lru_cache(4096)
def _flat_sign(sign: str) -> str:
    letters = unicodedata.normalize("NFKD", folded(sign))
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")
