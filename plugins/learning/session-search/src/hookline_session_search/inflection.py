"""Compares words by their stems, so that ``server`` finds ``servers``.

The index has no stems. A query looks for words that begin like the stem, and the messages found
are then checked word by word. The language is not detected: two words are forms of one if a
stemmer of any language of their script says so (https://snowballstem.org).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from .tokens import without_marks, word_tokens

LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "LATIN": (
        *("english", "german", "french", "spanish", "italian", "portuguese", "dutch"),
        *("swedish", "danish", "norwegian"),
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


def prefix(word: str) -> str:
    """Return the letters that every form of the word begins with; empty if it has one form."""
    if not (found := stems(word)):
        return ""
    start = without_marks(word)
    for _, stem in found:
        while not stem.startswith(start):
            start = start[:-1]
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
    languages = LANGUAGES.get(unicodedata.name(word[0], "").partition(" ")[0], ())
    pairs = (
        (language, without_marks(_stemmer(language).stemWord(form)))
        for language in languages
        for form in {word, without_marks(word)}
    )
    return frozenset(pair for pair in pairs if len(pair[1]) >= MIN_STEM_CHARS)


@cache
def _stemmer(language: str) -> Any:
    import snowballstemmer  # type: ignore[import-untyped]

    return snowballstemmer.stemmer(language)
