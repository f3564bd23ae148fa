"""Text from outside on a terminal: it can neither control the screen nor hide anything.

Escape sequences move the cursor, hide text or recolour the screen, so that a person approves
something other than what they see.
"""

from __future__ import annotations

from hookline_hookspecs.visible_text import spell_out, spell_out_prose

from .text_width import cut, cut_middle, width_of


def literal(text: str) -> str:
    """Escape what is invisible or misleading, such as ``\\x1b``; for text that is approved."""
    return spell_out(text)


def readable(text: str) -> str:
    """Escape what controls the screen, so that joined emoji and scripts still work; for answers."""
    return spell_out_prose(text)


def one_line(text: str, width: int) -> str:
    """Return ``text`` escaped on one line, cut to ``width`` columns."""
    # Escaping only makes text longer, so this prefix is always enough.
    return cut(literal(" ".join(text[: 20 * width].split())), width)


def both_ends(text: str, width: int) -> str:
    """Return ``text`` escaped on one line of ``width`` columns; of a long one both ends.

    Between them stands how many characters are left out: a command may do its harm at its end.
    """
    edge = 20 * width
    if len(text) <= 2 * edge:
        line = literal(" ".join(text.split()))
        return line if width_of(line) <= width else cut_middle(line, width)
    first, last = (literal(" ".join(part.split())) for part in (text[:edge], text[-edge:]))
    return cut_middle(first + last, width, already_left_out=len(text) - 2 * edge)
