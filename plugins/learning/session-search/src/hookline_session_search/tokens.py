"""Tokenizes text for the index, and parses queries.

Every symbol (punctuation, emoji and so on) and every character of a script without spaces is a
token. A word such as ``C++``, ``a@b.example`` or ``東京`` is a phrase of tokens and matches exactly
that sequence. The only operator of a query is ``OR`` between two words.
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
_SCRIPT_BORDER = re.compile(
    rf"(?<=[{_DATA['alone']}])(?=[a-z0-9]{{2}})|(?<=[a-z0-9]{{2}})(?=[{_DATA['alone']}])"
)
_PAIR = re.compile(rf"[{_DATA['alone']}]{{2}}|[{_DATA['alone']}]")
_EQUAL_CHARS = str.maketrans(_DATA["same"])
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]")
"""Soft hyphens, joiners, direction marks and variation selectors: invisible, so never typed."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BEFORE, _AFTER = _DATA["before"], _DATA["after"]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A parsed query: of every group, a message contains at least one word.

    Words are folded; ``left_out`` is true if there were too many of them.
    """

    groups: tuple[tuple[str, ...], ...]
    left_out: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words of all groups."""
        return tuple(word for group in self.groups for word in group)


def in_pairs(query: SearchQuery) -> SearchQuery:
    """Return the query with runs of Chinese, Japanese and the like divided into pairs of letters.

    A run may be several words, and which ones only a dictionary knows.
    """
    groups: list[tuple[str, ...]] = []
    for group in query.groups:
        pairs = _PAIR.findall(group[0]) if len(group) == 1 else []
        is_run = len(pairs) > 1 and "".join(pairs) == group[0]
        groups += [(pair,) for pair in pairs] if is_run else [group]
    return SearchQuery(tuple(dict.fromkeys(groups))[:MAX_WORDS], query.left_out)


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
    """Return the query of ``text``: words, of which ``OR`` joins two neighbours into a group.

    Symbols around words are left out unless there is nothing else.
    """
    given = _group_words(text)
    stripped = [tuple(filter(None, map(_strip_punctuation, group))) for group in given]
    groups = list(dict.fromkeys(filter(None, stripped))) or list(dict.fromkeys(given))
    chosen: list[tuple[str, ...]] = []
    words_left = MAX_WORDS
    for group in groups:
        tokens = {word: word_tokens(word) for word in group[:words_left]}
        words_left -= len(tokens)
        if kept := tuple(word for word in tokens if tokens[word]):
            chosen.append(kept)
    count = sum(len(dict.fromkeys(group)) for group in groups)
    long_words = (word for group in chosen for word in group if _is_long(word))
    return SearchQuery(tuple(chosen), count > MAX_WORDS or any(long_words))


def word_tokens(word: str) -> list[str]:
    """Return the tokens of a folded word that are used."""
    return index_text(word).split()[:MAX_TOKENS_PER_WORD]


def without_marks(text: str) -> str:
    """Return ``text`` without accents, as both stores compare letters."""
    if text.isascii():
        return text
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text))


def _group_words(text: str) -> list[tuple[str, ...]]:
    """Return the folded words in order; those with ``OR`` between them are in one group."""
    groups: list[tuple[str, ...]] = []
    joins = False
    given = text.split()
    for place, part in enumerate(given, 1):
        if part == "OR" and groups and not joins and place < len(given):
            joins = True
            continue
        for word in _split_scripts(fold(part)):
            if joins:
                groups[-1] += (word,)
            else:
                groups.append((word,))
            joins = False
    return groups


def _split_scripts(folded: str) -> list[str]:
    """Return words of which none has both letters of a script without blanks and others.

    Nobody writes a blank between them, so a message may have them in another order.
    """
    return _SCRIPT_BORDER.sub(" ", folded).split()


def _is_long(word: str) -> bool:
    return len(word) > MAX_TOKENS_PER_WORD and len(index_text(word).split()) > MAX_TOKENS_PER_WORD


def _strip_punctuation(word: str) -> str:
    """Return the word without surrounding punctuation; empty if it is only punctuation."""
    if all(unicodedata.category(char)[0] == "P" for char in word):
        return ""
    return word.lstrip(_BEFORE).rstrip(_AFTER) or word
