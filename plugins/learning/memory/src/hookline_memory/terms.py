"""The terms by which facts are found: words of any script, folded, and their stems.

Words are cut at what is no letter or digit and folded: compatibility forms, letter case, accents
of Latin, Greek and Cyrillic letters, vowel points of Arabic and Hebrew. Text without blanks between
words (Chinese, Japanese, Korean, Thai and more) is cut into overlapping pairs of characters, which
needs no dictionary. Which language a text is in is not asked: endings of many languages are taken
off a word by one list and what is left is cut to :data:`STEM`, which is what retrieval over several
European languages does about as well with as with a stemmer each (McNamee and Mayfield, "Character
N-Gram Tokenization for European Language Text Retrieval", 2004).
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

Affixes: TypeAlias = Sequence[tuple[str, ...]]
"""Beginnings or endings, those of ``n`` characters at place ``n``."""
Fits: TypeAlias = Callable[[tuple[str, ...]], bool]
STEM = 6
"""Characters of a stem at most."""
SHORTEST = 3
"""Characters that are left of a word at least when an ending is taken off."""
STEM_MARK = "≈"
"""Before a stem in the index, so that it is never taken for a word."""
LONGEST_WORD = 40
"""Characters of a word that count."""
_FOLDED_AWAY = re.compile(
    "[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652\u0670\u200b-\u200f\u2060]"
)
_HIRAGANA = re.compile("[\u3041-\u309f]")
_IDEOGRAPH = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_ALONE = re.compile(f"(?<!{_IDEOGRAPH}){_IDEOGRAPH}(?!{_IDEOGRAPH})")
_WEIGHTS = (1.0, 0.6, 0.3)
"""The weight of a pair by how many hiragana are in it."""
_SAME = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i",
                       "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "’": "'"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """A word and its stem. ``weight`` is less than 1 for what says little, such as a pair of
    Japanese syllables."""

    word: str
    stem: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class _Language:
    """What ``terms.toml`` holds, folded and compiled."""

    pieces: re.Pattern[str]
    stop: frozenset[str]
    joined_stop: frozenset[str]
    negations: frozenset[str]
    fillers: frozenset[str]
    joined_negations: tuple[str, ...]
    endings: Affixes
    beginnings: Affixes


def terms(text: str) -> list[Term]:
    """The terms of ``text`` that say something, in order."""
    language = _language()
    found: list[Term] = []
    for match in language.pieces.finditer(fold(text)):
        if match["joined"]:
            found += _pairs(match["joined"], language)
        elif (word := _plain(match["word"])) not in language.stop:
            found.append(Term(word, _stem(word)))
    return found


def index_terms(text: str) -> str:
    """``text`` as it is indexed: words and marked stems, separated by blanks."""
    language, found = _language(), terms(text)
    runs = [match["joined"] or "" for match in language.pieces.finditer(fold(text))]
    stems = dict.fromkeys([*(term.stem for term in found), *"".join(runs)])
    words = dict.fromkeys(term.word for term in found)
    return " ".join([*words, *(f"{STEM_MARK}{stem}" for stem in stems)])


def negations(text: str) -> list[str]:
    """The words of ``text`` that reverse what it says, sorted."""
    language = _language()
    folded = fold(text)
    words = [_plain(m["word"]) for m in language.pieces.finditer(folded) if m["word"]]
    found = [word for word in words if word in language.negations]
    found += [one for one in language.joined_negations for _ in range(folded.count(one))]
    return sorted([*found, *re.findall(r"n't\b", folded)])


def whole_words(text: str) -> list[str]:
    """All words of ``text`` in order but for those without which it says the same; runs of joined
    script count as one word."""
    language = _language()
    words = (m["joined"] or _plain(m["word"]) for m in language.pieces.finditer(fold(text)))
    return [word for word in words if word not in language.fillers]


def fold(text: str) -> str:
    """``text`` without what two spellings of one word differ in."""
    if text.isascii():
        return text.lower()
    wide = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _FOLDED_AWAY.sub("", wide).translate(_SAME))


def _plain(word: str) -> str:
    """``C++`` and ``C#`` are words, too, in letters that need no quoting anywhere."""
    return word.replace("+", "p").replace("#", "sharp")[:LONGEST_WORD]


def _pairs(run: str, language: _Language) -> Iterable[Term]:
    """Overlapping pairs of a run of joined script, and each ideograph that stands alone in it, as
    many Japanese words do. What holds hiragana is mostly grammar and weighs less."""
    if len(run) == 1:
        yield Term(run, run)
        return
    for alone in _ALONE.findall(run):
        yield Term(alone, alone)
    for first, second in pairwise(run):
        if (pair := first + second) not in language.joined_stop:
            yield Term(pair, pair, _WEIGHTS[len(_HIRAGANA.findall(pair))])


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    language = _language()
    front = _longest(len(word), language.beginnings, word.startswith)
    word = word[front:]
    back = _longest(len(word), language.endings, word.endswith)
    return word[: len(word) - back][:STEM]


def _longest(length: int, affixes: Affixes, fits: Fits) -> int:
    """The length of the longest affix that fits a word and leaves enough of it."""
    for size in range(min(len(affixes) - 1, length - SHORTEST), 0, -1):
        if affixes[size] and fits(affixes[size]):
            return size
    return 0


@cache
def _language() -> _Language:
    data = tomllib.loads(Path(__file__).with_name("terms.toml").read_text(encoding="utf-8"))
    joined, marks = data["joined"], data["marks"]
    word = rf"[^\W_{joined}]+(?:[{marks}]+[^\W_{joined}]*)*(?:\+\+|\#(?!\w))?"
    pieces = re.compile(rf"(?P<joined>[{joined}]+)|(?P<word>{word})")

    def words(text: str) -> frozenset[str]:
        # "don't" is cut as any text is, so each of its pieces is a word of the list.
        return frozenset(_plain(m["word"]) for m in pieces.finditer(fold(text)) if m["word"])

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
    found = {fold(one) for text in lists.values() for one in text.split()}
    longest = max(map(len, found))
    return tuple(tuple(sorted(a for a in found if len(a) == size)) for size in range(longest + 1))
