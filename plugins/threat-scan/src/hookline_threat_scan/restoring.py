"""Words that were written to be read by a model and overlooked by a filter, put back in order.

Look-alike letters, digits for letters, letters that changed places or stand apart, words without
blanks, words that a line break cuts. Lines stay where they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from .vocabulary import WORD, Lexicon, variants

_LETTERS = re.compile(
    r"(?<![^\W_])[^\W\d_](?:(?:[ \t]?[.\-_*·•|/,~+:][ \t]?|[ \t]{1,3}|\n)[^\W\d_](?![^\W_])){4,400}"
)
_CUT = re.compile(
    r"(?<![^\W_])([^\W\d_]{2,16})[-\u2010\u00ad]?[ \t]*\n[ \t]*(?:>|#|//|\*)?[ \t]*([^\W\d_]{2,"
    r"16})(?![^\W_])"
)
_MIXED = re.compile("[a-z][\u0370-\u058f]|[\u0370-\u058f][a-z]")
"""Two alphabets in one word, which no language has."""
_IN_NUMBER = re.compile(r"\d[.:,/-]\d")
_NUMBER = re.compile(r"\b\d{1,3}\b")
_LETTER = re.compile(r"[^\W\d_]")
_GAP = re.compile(r"(?<=[^\W\d_])[\W_]+(?=[^\W\d_])")
LONG = 12
"""Letters from which on a word may be several without blanks between them."""
LONGEST = 400


@dataclass(frozen=True, slots=True)
class Restored:
    """The text, and where in it words were put back: starts and ends, in order."""

    text: str
    places: list[tuple[int, int]]

    def disguised(self, start: int, end: int) -> bool:
        """True if a word between two places had been disguised."""
        at = bisect_left(self.places, (start, 0))
        before = at > 0 and self.places[at - 1][1] > start
        return before or (at < len(self.places) and self.places[at][0] < end)


def restore(text: str, lexicon: Lexicon) -> Restored:
    """A folded text with the words of ``lexicon`` in the place of their disguises."""
    found = _restore(text, _Reader(lexicon))
    if len(found.places) > 1 and _NUMBER.search(text):
        return _restore(text, _NumberReader(lexicon))
    return found


def _restore(text: str, reader: _Reader) -> Restored:
    text = _LETTERS.sub(reader.together, text)
    text = _CUT.sub(reader.whole, text)
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    at = length = 0
    for found in WORD.finditer(text):
        word = found[0]
        plain = reader.plain(word)
        if plain != word and not (
            word.isdigit() and _IN_NUMBER.search(text, max(0, found.start() - 2), found.end() + 2)
        ):
            parts.append(text[at : found.start()])
            length += found.start() - at
            places.append((length, length + len(plain)))
            parts.append(plain)
            length += len(plain)
            at = found.end()
    parts.append(text[at:])
    marked = "".join(parts)
    return _unmarked(marked, places) if _MARK in marked else Restored(marked, places)


_MARK = "\x1f"
"""Stands around words that were put back before the others, until all are counted."""


def _unmarked(text: str, places: list[tuple[int, int]]) -> Restored:
    """The text without marks; what stood between a pair of them counts as put back."""
    marks = [found.start() for found in re.finditer(_MARK, text)]
    moved = [(a - bisect_left(marks, a), b - bisect_left(marks, b)) for a, b in places]
    pairs = zip(marks[::2], marks[1::2], strict=False)
    more = [(a - 2 * number, b - 2 * number - 1) for number, (a, b) in enumerate(pairs)]
    return Restored(text.replace(_MARK, ""), sorted(moved + more))


class _Reader:
    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._known: dict[str, str] = {}

    def plain(self, word: str) -> str:
        """The word itself if it is known or nothing else; else the one it stands for."""
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = self._read(word)
        return known

    def _read(self, word: str) -> str:
        lexicon = self._lexicon
        if len(word) < 2 or lexicon.knows(word):
            return word
        forms = [form for form in variants(word) if form.isalpha()]
        if forms and _MIXED.search(word):
            return forms[0]
        for form in forms:
            if lexicon.knows(form):
                return form
        for form in (word, *forms):
            if (ordered := lexicon.ordered(form)) is not None:
                return ordered
        if LONG <= len(word) <= LONGEST:
            for form in (word, *forms):
                if form.isascii() and (parts := lexicon.parts(form)):
                    return " ".join(parts)
        return word

    def together(self, found: re.Match[str]) -> str:
        """Letters that stand apart as the words they make; the match itself if they make none."""
        lines = found[0].count("\n")
        gaps = _GAP.findall(found[0])
        usual = max(set(gaps), key=gaps.count)
        words = "".join(
            char if gap in ("", usual) else f"{char} "
            for char, gap in zip(_LETTER.findall(found[0]), [*gaps, ""], strict=True)
        ).split()
        plain = [self._word(word) or word for word in words]
        known = sum(len(word) for word in plain if " " in word or self._lexicon.knows(word))
        if known < 0.4 * sum(map(len, words)):
            return found[0]
        return _MARK + " ".join(plain) + _MARK + "\n" * lines

    def _word(self, letters: str) -> str | None:
        for form in (letters, *variants(letters)):
            if self._lexicon.knows(form) and len(form) > 3:
                return form
            if parts := self._lexicon.parts(form):
                return " ".join(parts)
        return None

    def whole(self, found: re.Match[str]) -> str:
        """A word that a line break has cut, in front of the break."""
        first, second = found[1], found[2]
        knows = self._lexicon.knows
        both = knows(first) and knows(second) and "-" not in found[0]
        if both or not knows(first + second):
            return found[0]
        return f"{_MARK}{first}{second}{_MARK}\n"


class _NumberReader(_Reader):
    """Reads small numbers as words: among "1gn0r3" and "pr3v10u5", ``50`` is "so"."""

    def _read(self, word: str) -> str:
        if word.isdigit() and len(word) <= 3:
            plain = word.translate(_DIGITS)
            return plain if self._lexicon.knows(plain) or word == "7" else word
        return super()._read(word)


_DIGITS = str.maketrans("013457", "oieast")
