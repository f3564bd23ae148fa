"""Writes a query as the full-text search of SQLite (FTS5) and of PostgreSQL read it.

Every word is quoted, so that nothing in it is an operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .inflection import forms as inflected
from .tokens import SearchQuery, without_marks, word_tokens

MAX_TOKEN_CHARS = 500
"""Characters of a token that PostgreSQL compares; a longer one is an error there."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A query for FTS5 and for PostgreSQL."""

    match: str
    tsquery: str


def all_words(query: SearchQuery) -> Expression:
    """Return the expression for messages that contain a word of every group as it is written."""
    return _joined([[_word(word) for word in group] for group in query.groups])


def all_words_inflected(query: SearchQuery) -> Expression:
    """Return the expression for messages that may contain an inflected word of every group."""
    return _joined([_with_prefixes(group) for group in query.groups])


def any_word(query: SearchQuery) -> Expression:
    """Return the expression for messages that may contain a word, inflected or not."""
    return _joined([_with_prefixes(query.words)])


def _with_prefixes(words: Iterable[str]) -> list[Expression]:
    forms = []
    for word in words:
        forms.append(_word(word))
        _, starts, short = inflected(word)
        forms += map(_prefix, starts)
        forms += map(_word, short)
    return forms


def _word(word: str) -> Expression:
    tokens = word_tokens(word)
    phrase = " ".join(token.replace('"', '""') for token in tokens)
    bare = without_marks(" ".join(tokens)).split() or tokens
    return Expression(f'"{phrase}"', f"({' <-> '.join(map(_quoted, bare))})")


def _prefix(start: str) -> Expression:
    return Expression(f'"{start}" *', f"{_quoted(start)}:*")


def _quoted(token: str) -> str:
    text = token[:MAX_TOKEN_CHARS].replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'"


def _joined(groups: Sequence[Sequence[Expression]]) -> Expression:
    """Return the expression for one of every group.

    FTS5 ignores a phrase without a letter that it knows only between phrases without ``AND``.
    """
    words = " ".join(group[0].match for group in groups if len(group) == 1)
    choices = (f"({' OR '.join(form.match for form in group)})" for group in groups if group[1:])
    tsquery = " & ".join(f"({' | '.join(form.tsquery for form in group)})" for group in groups)
    return Expression(" AND ".join(filter(None, [words, *choices])), tsquery)
