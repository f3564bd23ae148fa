"""A text as the model sees it, line endings being ``\\n``, and the way back to the stored text."""

from __future__ import annotations

import re
from bisect import bisect_left


def newline_of(text: str, default: str = "\n") -> str:
    """The line ending that ``text`` uses most; ``default`` if it has none."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    if crlf or lf:
        return "\r\n" if crlf > lf else "\n"
    return "\r" if "\r" in text else default


class View:
    """A text as the model sees it, every line ending being ``\\n``.

    A lone ``\\r`` ends a line only where the text has no ``\\n`` at all.
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
        """The offset in the stored text of the character at ``offset`` here."""
        return offset + bisect_left(self._shortened, offset)

    def line(self, offset: int) -> int:
        """The number, from 1, of the line that holds ``offset``."""
        return self.text.count("\n", 0, offset) + 1


def lines_of(text: str) -> list[str]:
    """The lines as the model sees them; an ending after the last line starts no new one."""
    lines = View(text).text.split("\n")
    return lines if lines[-1] else lines[:-1]
