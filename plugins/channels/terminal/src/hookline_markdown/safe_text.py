"""Makes untrusted text safe to show on a terminal.

Text of a model, a file or a web page can hold escape sequences that move the cursor, hide text or
recolour the screen, so that a person approves something other than what they see.
"""

from __future__ import annotations

import unicodedata

from .text_width import cut

_UNESCAPED = "\n\t"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that are invisible or change how the text around them looks."""
_CONTROL = frozenset({"Cc", "Cs"})


def literal(text: str) -> str:
    """Escape every invisible character, such as ``\\x1b``; for text that a person approves."""
    return _escaped(text, _HIDDEN)


def readable(text: str) -> str:
    """Escape control characters only, so that joined emoji and scripts still work; for answers."""
    return _escaped(text.replace("\r\n", "\n"), _CONTROL)


def one_line(text: str, width: int) -> str:
    """Return ``text`` escaped on one line, cut to ``width`` columns."""
    # Escaping only makes text longer, so this prefix is always enough.
    return cut(literal(" ".join(text[: 20 * width].split())), width)


def _escaped(text: str, categories: frozenset[str]) -> str:
    if text.isprintable():
        return text
    return "".join(
        character
        if character in _UNESCAPED or unicodedata.category(character) not in categories
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
