"""Width of text in terminal columns, and lines cut or wrapped to it.

East Asian characters and emoji take two columns.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_ZERO_WIDTH = frozenset({"Mn", "Me", "Cf"})
"""Unicode categories that take no column of their own."""


@lru_cache(4096)
def _columns(character: str) -> int:
    if unicodedata.category(character) in _ZERO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(text: str) -> int:
    """Return the number of columns that a line takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int) -> str:
    """Shorten a line to ``width`` columns, with an ellipsis if anything was cut."""
    return text if width_of(text) <= width else _pieces(text, width - 1, max_pieces=1)[0] + "…"


def folded(line: str, width: int) -> list[str]:
    """Split a line into pieces of at most ``width`` columns, wherever that falls."""
    return [line] if width_of(line) <= width else _pieces(line, width)


def _pieces(line: str, width: int, max_pieces: int = 0) -> list[str]:
    pieces, start, used = [], 0, 0
    for place, character in enumerate(line):
        columns = _columns(character)
        if used + columns > width and place > start:
            pieces.append(line[start:place])
            if len(pieces) == max_pieces:
                return pieces
            start, used = place, 0
        used += columns
    return [*pieces, line[start:]]


def wrapped(line: str, width: int) -> list[str]:
    """Wrap a line between words; continuation lines keep its indentation.

    A table row continues below its last cell if that starts in the left half of the line.
    """
    if width_of(line) <= width:
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    cell = line.rfind("  ", 0, width) + 2 if "  " in line.strip(" ")[:width] else indent
    hang = cell if indent < cell <= width // 2 else min(indent, width // 2)
    lines, room = [""], width
    for word in _words(line):
        if width_of(lines[-1] + word.rstrip(" ")) <= room:
            lines[-1] += word
            continue
        first, *more = folded(word, max(1, width - hang))
        if lines[-1].strip(" "):
            lines.append(" " * hang + first)
        else:
            lines[-1] += first
        lines += [" " * hang + piece for piece in more]
    # A wide character may not fit beside the indentation.
    return [piece for part in lines for piece in folded(part.rstrip(" "), width)]


def _words(line: str) -> list[str]:
    """Split a line into words with their trailing blanks; the first has the indentation."""
    words, start = [], 0
    for place in range(1, len(line)):
        if line[place - 1] == " " != line[place] and line[start:place].strip(" "):
            words.append(line[start:place])
            start = place
    return [*words, line[start:]]
