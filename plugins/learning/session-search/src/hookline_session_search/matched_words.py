"""Which words of a query a message contains, and in which forms."""

from __future__ import annotations

from dataclasses import dataclass

from .inflection import prefix, stems
from .tokens import SearchQuery, index_text, without_marks, word_tokens


@dataclass(frozen=True, slots=True)
class MatchedWords:
    """The forms in which a message contains the words of a query, and the words it does not
    contain; of a group, these are one text with ``OR``."""

    forms: tuple[str, ...]
    missing: tuple[str, ...]


def match_words(query: SearchQuery, text: str) -> MatchedWords:
    """Compare a message with a query, word by word."""
    tokens = without_marks(index_text(text)).split()
    line, different = f" {' '.join(tokens)} ", sorted(set(tokens))
    forms: list[str] = []
    missing: list[str] = []
    for group in query.groups:
        found = [form for word in group for form in _forms(word, line, different)]
        forms += found
        if not found:
            missing.append(" OR ".join(group))
    return MatchedWords(tuple(dict.fromkeys(forms)), tuple(missing))


def _forms(word: str, line: str, different: list[str]) -> list[str]:
    """Return the forms of ``word`` in a text: its tokens in one line, and the different ones."""
    if f" {without_marks(' '.join(word_tokens(word)))} " in line:
        return [word]
    if not (start := prefix(word)):
        return []
    own = stems(word)
    return [token for token in different if token.startswith(start) and stems(token) & own]
