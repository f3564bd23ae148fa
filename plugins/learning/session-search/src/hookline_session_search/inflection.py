"""Compares words by their stems, so that ``server`` finds ``servers``.

The index has no stems. A query looks for words that begin like the stem, and the messages found
are then checked word by word. The language is not detected: two words are forms of one if a
stemmer of any language of their script says so (https://snowballstem.org).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import takewhile
from typing import Any

from .tokens import without_marks, word_tokens
from .word_forms import other_forms

LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "LATIN": (
        *("english", "german", "french", "spanish", "italian", "portuguese", "dutch"),
        *("swedish", "danish", "norwegian", "turkish", "hungarian", "polish", "czech"),
        *("finnish", "romanian", "indonesian"),
    ),
    "CYRILLIC": ("russian",),
    "GREEK": ("greek",),
    "ARABIC": ("arabic",),
    "DEVANAGARI": ("hindi",),
}
"""Languages whose stemmers are asked, by the first word of the Unicode names of their letters."""
MIN_STEM_CHARS = 3
"""Characters of a stem; a shorter one says too little."""
MAX_EXACT_PREFIX_CHARS = 4
"""A longer prefix leaves out the stem's last character, which may change: ``stud`` finds ``study``,
whose stem is ``studi``."""
MAX_WORD_CHARS = 40
"""Characters of a word that has a stem."""


@lru_cache(maxsize=1_000)
def forms(word: str) -> tuple[frozenset[tuple[str, str]], tuple[str, ...], tuple[str, ...]]:
    """Return the stems of a query's word in all its forms, the letters that words with these stems
    begin with, and the forms that are too short for that."""
    own, starts, short = stems(word), _starts(word), list[str]()
    if not all(unicodedata.category(char)[0] in "LM" for char in word):
        return own, (), ()
    for form in sorted(other_forms(word)):
        own |= stems(form)
        if found := _starts(form):
            starts += found
        else:
            short.append(form)
    different = dict.fromkeys(starts)
    kept = (
        one for one in different if not any(one[:size] in different for size in range(len(one)))
    )
    return own, tuple(kept), tuple(short)


def _starts(word: str) -> list[str]:
    """Return the prefix without and with accents: SQLite compares only Latin letters without.

    In Greek the accent moves between the forms of a word, so only its first letters are compared.
    """
    start = prefix(word)
    if start and unicodedata.name(word[0], "").startswith("GREEK"):
        start = start[:MIN_STEM_CHARS]
    return [start, word[: len(start)]] if start else []


def prefix(word: str) -> str:
    """Return the letters that the word and its stems begin with; empty if they are too few.

    A stem that begins differently is of a language that is not the word's.
    """
    start = bare = without_marks(word)
    if not (found := stems(word)):
        return ""
    for _, stem in found:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(bare, stem, strict=False))
        common = "".join(letter for letter, _ in same)
        if len(common) >= MIN_STEM_CHARS:
            start = min(start, common, key=len)
    if len(start) > MAX_EXACT_PREFIX_CHARS:
        start = start[:-1]
    return start if len(start) >= MIN_STEM_CHARS else ""


@lru_cache(maxsize=20_000)
def stems(word: str) -> frozenset[tuple[str, str]]:
    """Return pairs of a language and the word's stem there, without accents."""
    if not MIN_STEM_CHARS <= len(word) <= MAX_WORD_CHARS or word_tokens(word) != [word]:
        return frozenset()
    if not all(unicodedata.category(char)[0] in "LM" for char in word):
        return frozenset()
    languages = _languages(unicodedata.name(word[0], "").partition(" ")[0])
    pairs = (
        (language, without_marks(_stemmer(language).stemWord(form)))
        for language in languages
        for form in {word, without_marks(word)}
    )
    return frozenset(pair for pair in pairs if len(pair[1]) >= MIN_STEM_CHARS)


@cache
def _languages(script: str) -> tuple[str, ...]:
    """Return the languages of a script; older releases of the stemmers know fewer."""
    import snowballstemmer  # type: ignore[import-untyped]

    known = snowballstemmer.algorithms()
    return tuple(language for language in LANGUAGES.get(script, ()) if language in known)


@cache
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(language)
