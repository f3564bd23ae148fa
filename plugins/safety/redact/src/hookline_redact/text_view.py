"""A text as the finders read it: plain digits, dashes and spaces, without invisible characters.

``TextView.of(text)`` makes it; ``view.span(start, end)`` converts a range to the original text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_INVISIBLE = frozenset(
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029"
    "\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
    "\ufe0e\ufe0f"
)
_LINES = frozenset("\u2028\u2029")


@dataclass(frozen=True)
class TextView:
    """``text`` is what patterns are matched against; ``positions`` holds the index in the original
    of each of its characters, or is None if all indexes are equal.
    """

    text: str
    positions: Sequence[int] | None

    @classmethod
    def of(cls, original: str) -> TextView:
        """The view of a text."""
        if original.isascii():
            return cls(original, None)
        table = {ord(char): _plain_char(char) for char in set(original) if not char.isascii()}
        text = original.translate(table)
        if len(text) == len(original):
            return cls(text, None)
        return cls(text, [at for at, char in enumerate(original) if table.get(ord(char), char)])

    @cached_property
    def lower(self) -> str:
        """The text in lower case, of the same length."""
        lower = self.text.lower()
        if len(lower) == len(self.text):
            return lower
        return "".join(low if len(low := char.lower()) == 1 else char for char in self.text)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the original of a range of the view that is not empty."""
        if self.positions is None:
            return start, end
        return self.positions[start], self.positions[end - 1] + 1


def _plain_char(char: str) -> str:
    """The plain character that means the same; empty for an invisible one."""
    if char in _LINES:
        return "\n"
    if char in _INVISIBLE or 0xE0000 <= ord(char) <= 0xE007F:
        return ""
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    category = unicodedata.category(char)
    if category == "Pd" or char == "\u2212":
        return "-"
    if category == "Zs":
        return " "
    plain = unicodedata.normalize("NFKC", char)
    return plain if len(plain) == 1 and plain.isascii() else char
