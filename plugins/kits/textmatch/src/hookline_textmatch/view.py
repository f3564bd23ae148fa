"""A text as the model sees it, with ``\\n`` endings, and the offsets in the stored text."""

from __future__ import annotations

import re
from bisect import bisect_left


def newline_of(text: str, default: str = "\n") -> str:
    """Return the line ending that ``text`` uses most; ``default`` if it has none."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    if crlf or lf:
        return "\r\n" if crlf > lf else "\n"
    return "\r" if "\r" in text else default


class View:
    """A text as the model sees it: every line ending is ``\\n``.

    A lone ``\\r`` ends a line only if the text has no ``\\n`` at all.
    """

    def __init__(self, text: str) -> None:
        self._shortened: list[int] = []
        if "\n" not in text:
            self.text = text.replace("\r", "\n")
        elif "\r\n" in text:
            found = enumerate(re.finditer("\r\n", text))
            self._shortened = [match.start() - before for before, match in found]
            self.text = text.replace("\r\n", "\n")
        else:
            self.text = text

    def original(self, offset: int) -> int:
        """Return the offset in the stored text of the character at ``offset`` here."""
        return offset + bisect_left(self._shortened, offset)

    def line(self, offset: int) -> int:
        """Return the number, from 1, of the line at ``offset``."""
        return self.text.count("\n", 0, offset) + 1


def lines_of(text: str) -> list[str]:
    """Return the lines as the model sees them; a final line ending starts no new line."""
    lines = View(text).text.split("\n")
    return lines if lines[-1] else lines[:-1]
