"""The words of the files in ``languages``: what each may mean, and how they are looked up.

A file lists, by concept, words and phrases as people write them. ``word*`` stands for all words
that begin so. A file with ``anywhere`` is of a script without blanks or with endings that stick:
there a phrase is looked for at any place, ``_`` at its end or start is the end or start of a word,
and ``negated`` lists what only looks like ``dismiss`` or ``send``. All files together are one
vocabulary, so that mixed languages are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from .folding import fold, skeleton, unleet
from .patterns import phrase_words

WORD = re.compile(r"(?:(?<![\w@$])[@$](?=[^\W_]))?[^\W_](?:[^\W_]|[@$!|€+](?=[^\W_@$!|€+]))*")
"""A word, with signs that may stand for letters inside of it."""
SCRIPTS = {
    "han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
    "kana": "\u3040-\u30ff",
    "hangul": "\uac00-\ud7af\u1100-\u11ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "hebrew": "\u0590-\u05ff",
    "devanagari": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
}
"""Ranges of the scripts that ``anywhere`` names."""


@dataclass(frozen=True, slots=True)
class Term:
    """A phrase of words, each with ``*`` at its end if only its beginning counts."""

    words: tuple[str, ...]
    concept: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """A phrase that is looked for anywhere in a text of some script."""

    pattern: re.Pattern[str]
    concept: str


class Lexicon:
    """Words that are known by their spelling."""

    def __init__(self, words: Iterable[str], stems: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._stems = frozenset(stems)
        self._lengths = tuple(sorted({len(stem) for stem in self._stems}))
        plain = [w for w in (*self._words, *self._stems) if w.isascii() and w.isalpha()]
        endings = (stem + ending for stem in self._stems for ending in ("", *_ENDINGS))
        self._by_letters = {
            _shuffled(w): w for w in (*endings, *self._words) if len(w) >= 6 and w.isascii()
        }
        self._parts = frozenset(w for w in plain if len(w) > 2) | _links()
        self._inflected = frozenset(
            word + ending for word in self._parts if len(word) >= 5 for ending in _ENDINGS
        )
        self._telling = tuple(word for word in self._parts if len(word) >= 4)

    def knows(self, word: str) -> bool:
        """True for a word of the vocabulary, or one that begins like a stem."""
        if word in self._words:
            return True
        return any(word[:n] in self._stems for n in self._lengths if n <= len(word))

    def ordered(self, word: str) -> str | None:
        """The word whose inner letters these are in disorder: "ignroe"."""
        if len(word) < 6 or not (word.isascii() and word.isalpha()):
            return None
        found = self._by_letters.get(_shuffled(word))
        return found if found != word else None

    def parts(self, word: str) -> list[str] | None:
        """Words without blanks between them; None if too few of the letters make any.

        The cheapest way through the letters: a word costs 1, a word with an ending that the
        lexicon does not hold 2, a letter of no word 3.
        """
        if sum(1 for _ in zip("12", (w for w in self._telling if w in word), strict=False)) < 2:
            return None
        best: list[tuple[int, int]] = [(0, 0)] * (len(word) + 1)
        for end in range(1, len(word) + 1):
            best[end] = (best[end - 1][0] + 3, end - 1)
            for start in range(max(0, end - _LONGEST), end - 1):
                part = word[start:end]
                cost = 1 if part in self._parts else 2 if part in self._inflected else 0
                if cost and best[start][0] + cost < best[end][0]:
                    best[end] = (best[start][0] + cost, start)
        return self._path(word, best)

    def _path(self, word: str, best: list[tuple[int, int]]) -> list[str] | None:
        found: list[str] = []
        end = len(word)
        while end:
            start = best[end][1]
            found.append(word[start:end])
            end = start
        known = [part for part in found if len(part) > 1]
        long = sum(len(part) >= 4 for part in known)
        if long < 2 or sum(map(len, known)) < 0.75 * len(word) or len(word) < 4 * len(known) - 2:
            return None
        return found[::-1]


_LONGEST = 16
"""Letters of the longest word that is looked for where blanks are missing."""
_ENDINGS = ("s", "d", "ed", "es", "ing", "n", "en", "e", "er", "r", "t", "ns")


def _shuffled(word: str) -> tuple[str, str, str]:
    """First and last letter and the others in order: the same for letters that changed places."""
    return word[0], word[-1], "".join(sorted(word[1:-1]))


@cache
def _links() -> frozenset[str]:
    """Short words between others where blanks are missing."""
    data = yaml.safe_load((files(__package__) / "lookalikes.yaml").read_text("utf-8"))
    return frozenset(data["links"].split())


class Vocabulary:
    """All terms, by their first words; and the patterns of each script."""

    def __init__(self, terms: Iterable[Term], patterns: Iterable[tuple[str, Pattern]]) -> None:
        self._single: dict[str, list[Term]] = {}
        self._prefix: dict[str, list[Term]] = {}
        self._pairs: dict[tuple[str, str], list[Term]] = {}
        self._loose: dict[str, list[Term]] = {}
        words: set[str] = set(phrase_words())
        stems: set[str] = set()
        for term in terms:
            self._add(term)
            for word in term.words:
                (stems if len(word) > 4 and word.endswith("*") else words).add(word.rstrip("*"))
        self._firsts = frozenset(first for first, _ in self._pairs)
        self._lengths = tuple(sorted({len(prefix) for prefix in self._prefix}))
        self.lexicon = Lexicon(words, stems)
        self.patterns: dict[str, list[Pattern]] = {}
        for script, pattern in patterns:
            self.patterns.setdefault(script, []).append(pattern)

    def _add(self, term: Term) -> None:
        first, second = term.words[0], term.words[1] if len(term.words) > 1 else ""
        if first.endswith("*"):
            self._prefix.setdefault(first[:-1], []).append(term)
        elif not second:
            self._single.setdefault(first, []).append(term)
        elif second.endswith("*"):
            self._loose.setdefault(first, []).append(term)
        else:
            self._pairs.setdefault((first, second), []).append(term)

    def terms(self, word: str) -> list[Term]:
        """Terms that begin with a word, those aside that :meth:`longer` finds."""
        found = [*self._single.get(word, ()), *self._loose.get(word, ())]
        for length in self._lengths:
            if length > len(word):
                break
            found += self._prefix.get(word[:length], ())
        return found

    def longer(self, word: str, following: str) -> Sequence[Term]:
        """Terms that begin with two words."""
        return self._pairs.get((word, following), ()) if word in self._firsts else ()


def variants(word: str) -> Iterator[str]:
    """Other readings of a word: look-alike letters, digits for letters."""
    plain = skeleton(word)
    if plain != word:
        yield plain
    for form in unleet(plain):
        if form != word:
            yield form


def matches(pattern: str, word: str) -> bool:
    """True if a word is the one of a term."""
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary of all files."""
    terms: list[Term] = []
    patterns: list[tuple[str, Pattern]] = []
    for file in sorted((files(__package__) / "languages").iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yaml"):
            # BaseLoader: "no" and "on" are words here.
            data = yaml.load(file.read_text("utf-8"), Loader=yaml.BaseLoader)  # noqa: S506
            scripts = data.pop("anywhere", [])
            for concept, phrase in _phrases(data):
                if scripts and not phrase.isascii():
                    pattern = Pattern(_anywhere(phrase), concept)
                    patterns += [(script, pattern) for script in scripts]
                elif words := _words(phrase):
                    terms.append(Term(words, concept))
    return Vocabulary(dict.fromkeys(terms), dict.fromkeys(patterns))


def _phrases(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for concept, phrases in data.items():
        for phrase in phrases:
            yield concept, phrase


def _words(phrase: str) -> tuple[str, ...]:
    words: list[str] = []
    for part in phrase.split():
        found = WORD.findall(fold(part.rstrip("*")))
        if part.endswith("*") and found:
            found[-1] += "*"
        words += found
    return tuple(words)


def _anywhere(phrase: str) -> re.Pattern[str]:
    start = r"(?<!\w)" if phrase.startswith("_") else ""
    end = r"(?!\w)" if phrase.endswith("_") else ""
    parts = (re.escape(part) for part in fold(phrase.strip("_")).split())
    return re.compile(start + r"\s{0,3}".join(parts) + end)


def scripts_of(chars: Iterable[str]) -> list[str]:
    """The scripts of ``SCRIPTS`` that some characters belong to."""
    text = "".join(chars)
    return [name for name, ranges in SCRIPTS.items() if re.search(f"[{ranges}]", text)]
