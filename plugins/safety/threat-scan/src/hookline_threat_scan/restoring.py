"""Words that were written to be read by a model and overlooked by a filter, put back in order.

Look-alike letters, digits for letters, letters that stand apart. Lines stay where they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from .data import expression, load
from .folding import fold
from .words import WORD, vocabulary

_LEET = str.maketrans("013457@$€8926|+!", "oleastaseboztlti")
_LEET_I = _LEET | str.maketrans("1|", "ii")


@dataclass(frozen=True, slots=True)
class Restored:
    """A folded text, and the words in it that had been disguised."""

    text: str
    words: frozenset[str] = frozenset()

    def disguised(self, start: int, end: int) -> bool:
        """True if a word between two places had been disguised."""
        return bool(self.words) and not self.words.isdisjoint(WORD.findall(self.text[start:end]))


def restore(original: str) -> Restored:
    """A text in one spelling, with plain words in the place of their disguises."""
    found: dict[str, str] = {}
    text = fold(original)
    if expression("maybe-apart").search(text):
        text = expression("apart").sub(lambda apart: _together(apart, found), text)
    for word in set(expression("signed").findall(text)):
        if not (word.isascii() and word.isalpha()) and (plain := _plain(word)):
            found[word] = plain
    if found:
        text = expression("signed").sub(lambda one: found.get(one[0], one[0]), text)
    return Restored(text, frozenset(found.values()))


@lru_cache(maxsize=50_000)
def _plain(word: str) -> str | None:
    """The word that a word stands for; None if it is plain."""
    knows = vocabulary().knows
    if word.isdigit() or knows(word):
        return None
    latin = word.translate(_latin())
    forms = (latin, latin.translate(_LEET), latin.translate(_LEET_I))
    return next((one for one in forms if len(one) > 1 and one.isalpha() and knows(one)), None)


@cache
def _latin() -> dict[int, str]:
    letters = load("disguises.yaml")["letters"]
    return {ord(char): letter for letter, chars in letters.items() for char in chars}


def _together(apart: re.Match[str], found: dict[str, str]) -> str:
    """Letters that stand apart as the words they make; the match itself if they make none."""
    gap = r"\s+" if re.search(r"\w[^\w\s]\w", apart[0]) else r"\s{2,}"
    words = [re.sub(r"[\W_]", "", part) for part in re.split(gap, apart[0])]
    words = [_plain(word) or word for word in words]
    known = [word for word in words if vocabulary().knows(word)]
    if max(map(len, known), default=0) < 4:
        return apart[0]
    found.update((word, word) for word in known)
    return " ".join(words)
