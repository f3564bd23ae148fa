"""The terms by which facts are found: words of any script, folded, and their stems.

Words are runs of letters and digits, folded by compatibility form, letter case, accents of Latin,
Greek and Cyrillic letters, and vowel points of Arabic and Hebrew. Text without spaces between words
(Chinese, Japanese, Korean, Thai and more) is split into overlapping pairs of characters, without a
dictionary. The language is not detected: one list of endings of many languages is stripped from
words, and the rest is cut to :data:`MAX_STEM_CHARS`, which for several
European languages works about as well as a stemmer for each (McNamee and Mayfield, "Character
N-Gram Tokenization for European Language Text Retrieval", 2004).
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

Affixes: TypeAlias = Sequence[tuple[str, ...]]
"""Prefixes or suffixes, those of ``n`` characters at index ``n``."""
AffixTest: TypeAlias = Callable[[tuple[str, ...]], bool]
MAX_STEM_CHARS = 6
"""Characters of a stem."""
MIN_STEM_CHARS = 3
"""Characters that remain of a word when an affix is stripped."""
STEM_MARK = "≈"
"""Prefix of a stem in the index, which distinguishes it from a word."""
MAX_WORD_CHARS = 40
"""Characters of a word that are used."""
_BLANK_IN_RUN = re.compile(r"(?<=[\u3040-\u30ff\u3400-\u9fff])\s+(?=[\u3040-\u30ff\u3400-\u9fff])")
"""A blank between Chinese or Japanese letters, which means nothing."""
_FOLDED_AWAY = re.compile(
    "[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652\u0670\u200b-\u200f\u2060]"
)
_HIRAGANA = re.compile("[\u3041-\u309f]")
_IDEOGRAPH = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_LONE_IDEOGRAPH = re.compile(f"(?<!{_IDEOGRAPH}){_IDEOGRAPH}(?!{_IDEOGRAPH})")
_WEIGHTS = (1.0, 0.6, 0.3)
"""Weight of a pair by its number of hiragana."""
_EQUAL_LETTERS = str.maketrans({
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i",
    "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "’": "'",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """A word and its stem. ``weight`` is below 1 for terms that say little, such as a pair of
    Japanese syllables."""

    word: str
    stem: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class _Language:
    """The content of ``terms.toml``, folded and compiled."""

    pieces: re.Pattern[str]
    stop: frozenset[str]
    joined_stop: frozenset[str]
    negations: frozenset[str]
    fillers: frozenset[str]
    joined_negations: tuple[str, ...]
    endings: Affixes
    beginnings: Affixes


def terms(text: str) -> list[Term]:
    """Return the terms of ``text`` in order, without stop words."""
    language = _language()
    found: list[Term] = []
    for match in _pieces(text):
        if match["joined"]:
            found += _pairs(match["joined"], language)
        elif (word := _quotable(match["word"])) not in language.stop:
            found.append(Term(word, stem(word)))
    return found


def index_terms(text: str) -> str:
    """Return ``text`` as it is indexed: words and marked stems, separated by blanks."""
    found = terms(text)
    runs = [match["joined"] or "" for match in _pieces(text)]
    stems = dict.fromkeys([*(term.stem for term in found), *"".join(runs)])
    words = dict.fromkeys(term.word for term in found)
    return " ".join([*words, *(f"{STEM_MARK}{stem}" for stem in stems)])


def negations(text: str) -> list[str]:
    """Return the words of ``text`` that negate it, sorted."""
    language = _language()
    folded = fold(text)
    words = [_quotable(m["word"]) for m in language.pieces.finditer(folded) if m["word"]]
    found = [word for word in words if word in language.negations]
    found += [
        negation for negation in language.joined_negations for _ in range(folded.count(negation))
    ]
    return sorted([*found, *re.findall(r"n't\b", folded)])


def split_words(text: str) -> list[str]:
    """Return the words of ``text`` in order; a run of text without spaces is one word."""
    return [match["joined"] or _quotable(match["word"]) for match in _pieces(text)]


def whole_words(text: str) -> list[str]:
    """Return the words of ``text`` as :func:`split_words` does, without fillers."""
    return [word for word in split_words(text) if word not in _language().fillers]


def _pieces(text: str) -> Iterator[re.Match[str]]:
    """Yield the words and runs of a text."""
    return _language().pieces.finditer(_BLANK_IN_RUN.sub("", fold(text)))


def fold(text: str) -> str:
    """Return ``text`` with different spellings of a word made equal."""
    if text.isascii():
        return text.lower()
    wide = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _FOLDED_AWAY.sub("", wide).translate(_EQUAL_LETTERS))


def _quotable(word: str) -> str:
    """Return a word in letters that need no quoting: ``C++`` and ``C#`` are words, too."""
    return word.replace("+", "p").replace("#", "sharp")[:MAX_WORD_CHARS]


def _pairs(run: str, language: _Language) -> Iterable[Term]:
    """Yield overlapping pairs of a run of text without spaces, and each ideograph that stands alone
    in it, as many Japanese words do. Hiragana are mostly grammar and weigh less."""
    if len(run) == 1:
        yield Term(run, run)
        return
    for alone in _LONE_IDEOGRAPH.findall(run):
        yield Term(alone, alone)
    for first, second in pairwise(run):
        if (pair := first + second) not in language.joined_stop:
            yield Term(pair, pair, _WEIGHTS[len(_HIRAGANA.findall(pair))])


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a folded word without its endings."""
    language = _language()
    front = _affix_length(len(word), language.beginnings, word.startswith)
    word = word[front:]
    back = _affix_length(len(word), language.endings, word.endswith)
    return word[: len(word) - back][:MAX_STEM_CHARS]


def _affix_length(length: int, affixes: Affixes, has_affix: AffixTest) -> int:
    """Return the length of the longest affix that a word has and that leaves enough of it."""
    for size in range(min(len(affixes) - 1, length - MIN_STEM_CHARS), 0, -1):
        if affixes[size] and has_affix(affixes[size]):
            return size
    return 0


@cache
def _language() -> _Language:
    data = tomllib.loads(Path(__file__).with_name("terms.toml").read_text(encoding="utf-8"))
    joined, marks = data["joined"], data["marks"]
    word = rf"[^\W_{joined}]+(?:[{marks}]+[^\W_{joined}]*)*(?:\+\+|\#(?!\w))?"
    pieces = re.compile(rf"(?P<joined>[{joined}]+)|(?P<word>{word})")

    def words(text: str) -> frozenset[str]:
        # The lists are split like any text, so "don't" adds both of its parts.
        return frozenset(_quotable(m["word"]) for m in pieces.finditer(fold(text)) if m["word"])

    negative = words(data["negations"])
    return _Language(
        pieces,
        frozenset().union(*(words(text) for text in data["stop"].values())) - negative,
        frozenset(fold(data["joined_stop"]).split()),
        negative,
        words(data["fillers"]),
        tuple(fold(data["joined_negations"]).split()),
        _by_length(data["endings"]),
        _by_length(data["beginnings"]),
    )


def _by_length(lists: Mapping[str, str]) -> Affixes:
    found = {fold(word) for text in lists.values() for word in text.split()}
    longest = max(map(len, found))
    return tuple(tuple(sorted(a for a in found if len(a) == size)) for size in range(longest + 1))
