"""How many columns text takes on a terminal, where East Asian letters and emoji take two."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_NONE = frozenset({"Mn", "Me", "Cf"})
"""Unicode categories that stand on the character before them."""


@lru_cache(4096)
def _columns(character: str) -> int:
    if unicodedata.category(character) in _NONE:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(text: str) -> int:
    """Return the columns that a line takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int) -> str:
    """Return a line shortened to ``width`` columns, with an ellipsis if anything is left out."""
    return text if width_of(text) <= width else _pieces(text, width - 1, most=1)[0] + "…"


def folded(line: str, width: int) -> list[str]:
    """Return a line as pieces of at most ``width`` columns, at least one."""
    return [line] if width_of(line) <= width else _pieces(line, width)


def _pieces(line: str, width: int, most: int = 0) -> list[str]:
    pieces, start, used = [], 0, 0
    for place, character in enumerate(line):
        columns = _columns(character)
        if used + columns > width and place > start:
            pieces.append(line[start:place])
            if len(pieces) == most:
                return pieces
            start, used = place, 0
        used += columns
    return [*pieces, line[start:]]


def wrapped(line: str, width: int) -> list[str]:
    """Return a line broken between words, so that it keeps its indentation and its last column.

    A row of a table goes on below its last cell, if that begins in the left half.
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
    # A wide character may not fit into the room that its indentation leaves.
    return [piece for one in lines for piece in folded(one.rstrip(" "), width)]


def _words(line: str) -> list[str]:
    """Words with the blanks behind them; the indentation belongs to the first."""
    words, start = [], 0
    for place in range(1, len(line)):
        if line[place - 1] == " " != line[place] and line[start:place].strip(" "):
            words.append(line[start:place])
            start = place
    return [*words, line[start:]]
