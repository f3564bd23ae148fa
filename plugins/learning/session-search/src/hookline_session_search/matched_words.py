"""Which words of a query a message contains, and in which forms."""

from __future__ import annotations

from dataclasses import dataclass

from .inflection import forms as inflected
from .inflection import stems
from .tokens import SearchQuery, index_text, without_marks, word_tokens


@dataclass(frozen=True, slots=True)
class MatchedWords:
    """The forms in which a message contains the words of a query, and the words it does not
    contain; of a group, these are one text with ``OR``."""

    forms: tuple[str, ...]
    missing: tuple[str, ...]


def match_words(query: SearchQuery, text: str) -> MatchedWords:
    """Compare a message with a query, word by word."""
    tokens = {token: without_marks(token) for token in index_text(text).split()}
    line = f" {without_marks(index_text(text))} "
    line, different = " ".join(line.split()).join("  "), sorted(tokens.items())
    forms: list[str] = []
    missing: list[str] = []
    for group in query.groups:
        found = [form for word in group for form in _forms(word, line, different)]
        forms += found
        if not found:
            missing.append(" OR ".join(group))
    return MatchedWords(tuple(dict.fromkeys(forms)), tuple(missing))


def _forms(word: str, line: str, different: list[tuple[str, str]]) -> list[str]:
    """Return the forms of ``word`` in a text: its tokens in one line, and the different ones, each
    with the same without accents."""
    if f" {without_marks(' '.join(word_tokens(word)))} " in line:
        return [word]
    own, starts, short = inflected(word)
    exact = {without_marks(form) for form in short}
    return [
        bare
        for token, bare in different
        if bare in exact or (starts and bare.startswith(starts) and stems(token) & own)
    ]
