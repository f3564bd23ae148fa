"""What a text is compared by: the terms of its words, in any script.

Three kinds of terms, none of which needs to know the language:

- a word, case-folded, accents of Latin letters taken off;
- its first five letters where it is longer, as a stem: truncation does for inflected European
  languages about what a stemmer does (McNamee and Mayfield, "Character N-Gram Tokenization for
  European Language Text Retrieval", Information Retrieval 7, 2004);
- pairs of neighbouring characters in scripts that are written without spaces, Korean among them,
  whose particles are joined to the word (as in Lucene's CJKAnalyzer).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import yaml

STEM = 5
"""Letters of a stem."""
LONGEST = 40
"""Characters of a word; a longer one is a hash, a key or encoded data."""
_TOKEN = re.compile(r"c\+\+|[a-z]#|[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DENSE = re.compile(
    "[\u0e00-\u0edf\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Runs of Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean."""


@cache
def stop_words() -> frozenset[str]:
    """Words that say nothing about a task, of all languages together, as :func:`words` makes
    them; stop words of a dense script are pairs of characters."""
    text = (Path(__file__).parent / "stopwords.yaml").read_text("utf-8")
    found: dict[str, str] = yaml.load(text, Loader=yaml.CSafeLoader)
    plain = {_plain(word) for line in found.values() for word in line.split()}
    return frozenset(plain)


def _plain(text: str) -> str:
    """``text`` case-folded, in compatibility form, without the accents of Latin letters."""
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


def words(text: str) -> list[str]:
    """The words of a text that say something, in order; a dense script's are pairs of
    characters."""
    stop = stop_words()
    found: list[str] = []
    for token in _TOKEN.findall(_plain(_CAMEL.sub(" ", text))):
        if token.isascii():
            if token not in stop and len(token) <= LONGEST and (len(token) > 1):
                found.append(token)
            continue
        found += [one for one in _split(token) if one not in stop and len(one) <= LONGEST]
    return found


def _split(token: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for run in _DENSE.finditer(token):
        if run.start() > at:
            parts.append(token[at : run.start()])
        dense = run[0]
        parts += [dense[n : n + 2] for n in range(len(dense) - 1)] or [dense]
        at = run.end()
    if at < len(token):
        parts.append(token[at:])
    return parts


def terms(text: str) -> list[str]:
    """The terms of a text: its words, and for each longer one its stem, marked by ``*``."""
    found: list[str] = []
    for word in words(text):
        found.append(word)
        stem = stem_of(word)
        if stem:
            found.append(stem)
    return found


def stem_of(word: str) -> str | None:
    """The term for the first letters of ``word``, or None if it is too short or has digits."""
    if len(word) < STEM or not word.isalpha():
        return None
    return f"{word[:STEM]}*"
