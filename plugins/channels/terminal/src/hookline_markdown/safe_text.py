"""Text of others made harmless for a terminal.

A model, a file or a web page can hold escape sequences that move the cursor, hide text or recolour
the screen, so that a person approves something else than what they see.
"""

from __future__ import annotations

import unicodedata

from .cells import cut

_KEPT = "\n\t"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that show nothing or change what is shown around them."""
_CONTROL = frozenset({"Cc", "Cs"})


def literal(text: str) -> str:
    """``text`` for a decision: whatever cannot be seen is spelt out, such as ``\\x1b``."""
    return _spelt(text, _HIDDEN)


def readable(text: str) -> str:
    """``text`` of an answer: control characters are spelt out, joined emoji and scripts work."""
    return _spelt(text.replace("\r\n", "\n"), _CONTROL)


def one_line(text: str, width: int) -> str:
    """``text`` on one line, cut to ``width`` columns."""
    # What cannot be seen takes more room once it is spelt out, so this is never too little.
    return cut(literal(" ".join(text[: 20 * width].split())), width)


def _spelt(text: str, categories: frozenset[str]) -> str:
    if text.isprintable():
        return text
    return "".join(
        character
        if character in _KEPT or unicodedata.category(character) not in categories
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
