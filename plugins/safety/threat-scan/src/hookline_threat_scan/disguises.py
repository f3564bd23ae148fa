"""Undoes disguises that a model can read and a filter would miss.

They are look-alike letters, digits for letters, and spaced-out letters. Line breaks are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from .data_files import expression, load_yaml
from .normalization import fold
from .vocabulary import WORD, vocabulary

_LEET = str.maketrans("013457@$€8926|+!", "oleastaseboztlti")
_LEET_I = _LEET | str.maketrans("1|", "ii")


@dataclass(frozen=True, slots=True)
class RestoredText:
    """A folded text, and the words in it that were disguised."""

    text: str
    words: frozenset[str] = frozenset()

    def is_disguised(self, start: int, end: int) -> bool:
        """Whether a word between two indexes was disguised."""
        return bool(self.words) and not self.words.isdisjoint(WORD.findall(self.text[start:end]))


def undo_disguises(original: str) -> RestoredText:
    """Fold a text and replace disguised words with plain ones."""
    plain_words: dict[str, str] = {}
    text = fold(original)
    if expression("maybe-apart").search(text):
        text = expression("apart").sub(lambda found: _join_letters(found, plain_words), text)
    for word in set(expression("signed").findall(text)):
        if not (word.isascii() and word.isalpha()) and (plain := _plain(word)):
            plain_words[word] = plain
    if plain_words:
        text = expression("signed").sub(lambda found: plain_words.get(found[0], found[0]), text)
    return RestoredText(text, frozenset(plain_words.values()))


@lru_cache(maxsize=50_000)
def _plain(word: str) -> str | None:
    """The known word that a word disguises; None if there is none."""
    knows = vocabulary().knows
    if word.isdigit() or knows(word):
        return None
    latin = word.translate(_latin())
    forms = (latin, latin.translate(_LEET), latin.translate(_LEET_I))
    return next((form for form in forms if len(form) > 1 and form.isalpha() and knows(form)), None)


@cache
def _latin() -> dict[int, str]:
    letters = load_yaml("disguises.yaml")["letters"]
    return {ord(char): letter for letter, chars in letters.items() for char in chars}


def _join_letters(found: re.Match[str], plain_words: dict[str, str]) -> str:
    """Join spaced-out letters to words; return the match itself if no word is known."""
    gap = r"\s+" if re.search(r"\w[^\w\s]\w", found[0]) else r"\s{2,}"
    words = [re.sub(r"[\W_]", "", part) for part in re.split(gap, found[0])]
    words = [_plain(word) or word for word in words]
    known = [word for word in words if vocabulary().knows(word)]
    if max(map(len, known), default=0) < 4:
        return found[0]
    plain_words.update((word, word) for word in known)
    return " ".join(words)
