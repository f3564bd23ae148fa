"""Characters that nobody sees: which of them are ordinary where they stand, and which hide text.

Ordinary are joiners in emoji and in Indic and Arabic writing, marks of direction beside right-to-
left letters, a byte order mark, soft hyphens, a word joiner here and there, the tags of a flag
(Unicode Technical Standard 51, 1.4.6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .data import expression
from .finding import Finding

MANY = 12
"""Zero-width characters in a text without a script that needs them: more carry a message."""


def find_characters(text: str) -> Iterator[Finding]:
    """Characters that hide a message or turn the order of the text, wherever they stand."""
    for name in ("concealed", "tag-run", "selector-run"):
        for found in expression(name).finditer(text):
            yield _finding("invisible-text", text, found)
    for found in expression("turned").finditer(text):
        yield _finding("bidirectional-text", text, found)


def find_stray_characters(text: str) -> Iterator[Finding]:
    """Invisible characters where no script needs them: within words, in numbers."""
    if text.isascii():
        return
    for found in expression("inside").finditer(text):
        yield _finding("invisible-text", text, found)
    for found in expression("run").finditer(text):
        if not _ordinary_run(text, found):
            yield _finding("invisible-text", text, found)
    zero_width = list(expression("zero-width").finditer(text))
    if len(zero_width) > MANY and not expression("needs-joiners").search(text):
        yield _finding("invisible-text", text, zero_width[0])


def _ordinary_run(text: str, found: re.Match[str]) -> bool:
    """True for a pair beside letters or emoji that need them, and for marks of direction."""
    near = text[max(0, found.start() - 2) : found.end() + 2]
    if len(found[0]) <= 2:
        return not expression("plain").search(near) or found.start() == 0
    return len(found[0]) <= 3 and bool(expression("needs-joiners").search(near))


def _finding(rule: str, text: str, found: re.Match[str]) -> Finding:
    return Finding.at(rule, text, max(0, found.start() - 12), found.end() + 12)
