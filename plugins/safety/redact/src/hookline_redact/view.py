"""A text as the detectors read it: one alphabet of digits, dashes and blanks, nothing invisible.

``View.of(text)`` makes it; ``view.span(start, end)`` says where something stands in the original.
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
class View:
    """``text`` is what patterns are matched against; ``places`` where its characters come from.

    ``places`` is None where every character stands at the same place in the original.
    """

    text: str
    places: Sequence[int] | None

    @classmethod
    def of(cls, original: str) -> View:
        """The view of a text. Where nothing invisible was taken out, lengths are equal."""
        if original.isascii():
            return cls(original, None)
        table = {ord(char): _plain(char) for char in set(original) if not char.isascii()}
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
        """Start and end in the original of what is not empty in the view."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def _plain(char: str) -> str:
    """One plain character for another that looks or counts like it; none for an invisible one."""
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
