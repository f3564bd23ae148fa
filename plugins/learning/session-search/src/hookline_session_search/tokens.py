"""Tokenizes text for the index, and parses queries.

Every symbol (punctuation, emoji and so on) and every character of a script without spaces is a
token. A word such as ``C++``, ``a@b.example`` or ``東京`` is a phrase of tokens and matches exactly
that sequence. Nothing in a query is an operator.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path

MAX_WORDS = 32
"""Different words of a query that are used."""
MAX_TOKENS_PER_WORD = 64
"""Tokens of one word that are used."""

_DATA = tomllib.loads(Path(__file__).with_name("scripts.toml").read_text(encoding="utf-8"))
_SYMBOL = re.compile(r"[^\w\s]|_")
_TOKEN_CHAR = re.compile(rf"[{_DATA['alone']}]|[^\w\s]|_")
_EQUAL_CHARS = str.maketrans(_DATA["same"])
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")
"""Soft hyphens, joiners, direction marks and variation selectors: invisible, so never typed."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BEFORE, _AFTER = _DATA["before"], _DATA["after"]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A parsed query.

    ``match`` is for FTS5 (empty without words), ``tsquery`` for PostgreSQL, ``words`` are folded;
    ``left_out`` is true if there were too many of them.
    """

    match: str
    tsquery: str
    words: tuple[str, ...]
    left_out: bool = False


def fold(text: str) -> str:
    """Return ``text`` with letter case, width and the form of quotes normalised."""
    if text.isascii():
        return _CONTROL.sub(" ", text).lower()
    clean = text.encode("utf-8", "replace").decode()
    clean = unicodedata.normalize("NFKC", clean).casefold()
    clean = _INVISIBLE.sub("", unicodedata.normalize("NFC", clean)).translate(_EQUAL_CHARS)
    return _CONTROL.sub(" ", clean)


def index_text(text: str) -> str:
    """Return ``text`` in the form that is indexed."""
    if text.isascii():
        return _SYMBOL.sub(r" \g<0> ", fold(text))
    return _TOKEN_CHAR.sub(_as_token, fold(text))


def _as_token(match: re.Match[str]) -> str:
    char = match[0]
    kind = unicodedata.category(char)
    if kind == "Cf":  # invisible
        return " "
    # An accent or a vowel sign belongs to its letter.
    return char if kind[0] == "M" else f" {char} "


def parse_query(text: str) -> SearchQuery:
    """Return a query for all words of ``text``, without symbols around words unless there is
    nothing else."""
    given = fold(text).split()
    words = list(dict.fromkeys(filter(None, map(_strip_punctuation, given)))) or list(
        dict.fromkeys(given)
    )
    phrases = [index_text(word).split() for word in words[:MAX_WORDS]]
    left_out = len(words) > MAX_WORDS or any(
        len(phrase) > MAX_TOKENS_PER_WORD for phrase in phrases
    )
    match = " ".join('"{}"'.format(" ".join(_quoted(phrase))) for phrase in phrases if phrase)
    tsquery = " & ".join(f"({_tsquery_phrase(phrase)})" for phrase in phrases if phrase)
    return SearchQuery(match, tsquery, tuple(words[:MAX_WORDS]), left_out)


def _quoted(phrase: list[str]) -> list[str]:
    return [token.replace('"', '""') for token in phrase[:MAX_TOKENS_PER_WORD]]


def _tsquery_phrase(phrase: list[str]) -> str:
    """Return the sequence of tokens as PostgreSQL writes it; letters without their marks."""
    bare = unicodedata.normalize("NFD", " ".join(phrase[:MAX_TOKENS_PER_WORD]))
    tokens = re.sub("[\u0300-\u036f]", "", bare).split()
    quoted = (token[:500].replace("\\", "\\\\").replace("'", "''") for token in tokens)
    return " <-> ".join(f"'{token}'" for token in quoted)


def _strip_punctuation(word: str) -> str:
    """Return the word without surrounding punctuation; empty if it is only punctuation."""
    if all(unicodedata.category(char)[0] == "P" for char in word):
        return ""
    return word.lstrip(_BEFORE).rstrip(_AFTER) or word
