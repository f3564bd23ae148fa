"""Width of text in terminal columns, and lines cut or wrapped to it.

East Asian characters and emoji take two columns. Where terminals disagree, the larger width counts:
a line that is thought too wide is wrapped early, one that is thought too narrow would be wrapped by
the terminal, without its indentation.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_ZERO_WIDTH = frozenset({"Mn", "Me", "Cf"})
"""Unicode categories that take no column of their own."""

_EMOJI_SELECTOR = "\ufe0f"
"""Makes the character before it an emoji, of two columns on some terminals."""
_REGIONAL_INDICATORS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))
"""Letters of flags: two columns each on some terminals, or for two of them."""


@lru_cache(4096)
def _columns(character: str) -> int:
    if character == _EMOJI_SELECTOR:
        return 1
    if character in _REGIONAL_INDICATORS:
        return 2
    if unicodedata.category(character) in _ZERO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(text: str) -> int:
    """Return the number of columns that a line takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int) -> str:
    """Shorten a line to ``width`` columns, with an ellipsis if anything was cut."""
    return text if width_of(text) <= width else _pieces(text, width - 1, max_pieces=1)[0] + "…"


MIN_ENDS_COLUMNS = 12
"""Columns for both ends of a line without its middle; a narrower one is cut at its end."""


def cut_middle(text: str, width: int, *, already_left_out: int = 0) -> str:
    """Shorten a line to ``width`` columns: both ends, and the number of characters between them.

    Args:
        text: a line that is too long, or both ends of one.
        width: columns.
        already_left_out: characters that ``text`` itself leaves out.
    """
    room = width - len(f"[… {len(text) + already_left_out:,} characters …]")
    if room < MIN_ENDS_COLUMNS:
        return _pieces(text, width - 1, max_pieces=1)[0] + "…"
    last = _pieces(text[::-1], room // 3, max_pieces=1)[0][::-1]
    first = _pieces(text, room - room // 3, max_pieces=1)[0]
    left_out = len(text) + already_left_out - len(first) - len(last)
    return f"{first}[… {left_out:,} characters …]{last}"


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
