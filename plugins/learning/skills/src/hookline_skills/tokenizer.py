"""Splits texts of any language into the terms they are compared by.

There are three kinds of terms:

- a word, case-folded, without the accents of Latin letters;
- its first five letters if it is longer, as a stem: for inflected European languages, truncation
  works about as well as a stemmer (McNamee and Mayfield, "Character N-Gram Tokenization for
  European Language Text Retrieval", Information Retrieval 7, 2004);
- pairs of neighbouring characters in scripts written without spaces, and in Korean, whose particles
  are joined to the word (as in Lucene's CJKAnalyzer).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import yaml

STEM_LETTERS = 5
"""Letters of a stem."""
MAX_WORD_CHARS = 40
"""Longer words are hashes, keys or encoded data, and are ignored."""
_TOKEN = re.compile(r"c\+\+|[a-z]#|[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(
    "[\u0e00-\u0edf\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Runs of Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean."""


@cache
def load_stop_words() -> frozenset[str]:
    """The stop words of all languages together, folded as :func:`tokenize` does."""
    text = (Path(__file__).parent / "stopwords.yaml").read_text("utf-8")
    found: dict[str, str] = yaml.load(text, Loader=yaml.CSafeLoader)
    plain = {_fold(word) for line in found.values() for word in line.split()}
    return frozenset(plain)


def _fold(text: str) -> str:
    """Return ``text`` case-folded, in NFKC form, without the accents of Latin letters."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    kept: list[str] = []
    for char in decomposed:
        if unicodedata.combining(char) and kept and kept[-1].isascii():
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def tokenize(text: str) -> list[str]:
    """Return the words of a text in order, without stop words; in scripts without spaces, pairs of
    characters."""
    stop = load_stop_words()
    found: list[str] = []
    for token in _TOKEN.findall(_fold(_CAMEL.sub(" ", text))):
        if token.isascii():
            if token not in stop and len(token) <= MAX_WORD_CHARS and (len(token) > 1):
                found.append(token)
            continue
        found += [
            pair for pair in _split_pairs(token) if pair not in stop and len(pair) <= MAX_WORD_CHARS
        ]
    return found


def _split_pairs(token: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(token):
        if run.start() > at:
            parts.append(token[at : run.start()])
        chars = run[0]
        parts += [chars[n : n + 2] for n in range(len(chars) - 1)] or [chars]
        at = run.end()
    if at < len(token):
        parts.append(token[at:])
    return parts


def stem_term(word: str) -> str | None:
    """Return the term for the first letters of ``word``, marked by ``*``; None if the word is too
    short or has digits."""
    if len(word) < STEM_LETTERS or not word.isalpha():
        return None
    return f"{word[:STEM_LETTERS]}*"
