"""Tokenizes text for the index, and turns what a person typed into a query.

Every symbol (punctuation, emoji and so on) and every character of a script without spaces is a
token. So a word such as ``C++``, ``a@b.example`` or ``東京`` is a phrase of tokens, found where
exactly these follow each other, and nothing in a query is an operator.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path

MOST_WORDS = 32
"""Different words of a query that are searched for."""
MOST_TOKENS = 64
"""Tokens of one word that are searched for."""

_DATA = tomllib.loads(Path(__file__).with_name("scripts.toml").read_text(encoding="utf-8"))
_SIGN = re.compile(r"[^\w\s]|_")
_ALONE = re.compile(rf"[{_DATA['alone']}]|[^\w\s]|_")
_SAME = str.maketrans(_DATA["same"])
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")
"""Soft hyphens, joiners, direction marks and variation selectors: invisible, so not typed."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BEFORE, _AFTER = _DATA["before"], _DATA["after"]


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: ``match`` for FTS5 (empty: nothing) and ``wanted`` for ``tsquery``, the
    ``words``, folded, and whether some of them were ``left_out`` because there are too many."""

    match: str
    wanted: str
    words: tuple[str, ...]
    left_out: bool = False


def folded(text: str) -> str:
    """Return ``text`` with letter case, width and the form of quotes normalised."""
    if text.isascii():
        return _CONTROL.sub(" ", text).lower()
    clean = text.encode("utf-8", "replace").decode()
    clean = unicodedata.normalize("NFKC", clean).casefold()
    clean = _UNSEEN.sub("", unicodedata.normalize("NFC", clean)).translate(_SAME)
    return _CONTROL.sub(" ", clean)


def stored(text: str) -> str:
    """Return ``text`` as it is put into the index."""
    if text.isascii():
        return _SIGN.sub(r" \g<0> ", folded(text))
    return _ALONE.sub(_apart, folded(text))


def _apart(match: re.Match[str]) -> str:
    sign = match[0]
    kind = unicodedata.category(sign)
    if kind == "Cf":  # not seen, and no token
        return " "
    # An accent or a vowel sign belongs to its letter.
    return sign if kind[0] == "M" else f" {sign} "


def query(text: str) -> Query:
    """Return a query for every word of ``text``. Symbols around a word are left out, unless there
    is nothing else."""
    given = folded(text).split()
    words = list(dict.fromkeys(filter(None, map(_bare, given)))) or list(dict.fromkeys(given))
    phrases = [stored(word).split() for word in words[:MOST_WORDS]]
    left_out = len(words) > MOST_WORDS or any(len(phrase) > MOST_TOKENS for phrase in phrases)
    match = " ".join('"{}"'.format(" ".join(_quoted(phrase))) for phrase in phrases if phrase)
    wanted = " & ".join(f"({_followed(phrase)})" for phrase in phrases if phrase)
    return Query(match, wanted, tuple(words[:MOST_WORDS]), left_out)


def _quoted(phrase: list[str]) -> list[str]:
    return [token.replace('"', '""') for token in phrase[:MOST_TOKENS]]


def _followed(phrase: list[str]) -> str:
    """The tokens one after the other, as PostgreSQL writes it; letters without their marks."""
    bare = unicodedata.normalize("NFD", " ".join(phrase[:MOST_TOKENS]))
    tokens = re.sub("[\u0300-\u036f]", "", bare).split()
    quoted = (token[:500].replace("\\", "\\\\").replace("'", "''") for token in tokens)
    return " <-> ".join(f"'{token}'" for token in quoted)


def _bare(word: str) -> str:
    """Return the word without surrounding punctuation; empty if it is only punctuation."""
    if all(unicodedata.category(sign)[0] == "P" for sign in word):
        return ""
    return word.lstrip(_BEFORE).rstrip(_AFTER) or word
