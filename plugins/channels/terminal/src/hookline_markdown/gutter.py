"""Wraps what comes from outside, and indents every line of it on the screen.

Only lines of the program begin in the first column: its prompt, its questions and their choices.
A terminal wraps a long line to the first column, where its rest could pass for one of those.
"""

from __future__ import annotations

import re

from .renderer import fitted
from .text_width import width_of

GUTTER = "  "
"""Begins each line of what comes from outside."""
_STYLE = re.compile("(\x1b\\[[0-9;]*m)")
_PLAIN = frozenset({"\x1b[0m", "\x1b[m"})


def hanging(text: str, width: int, first: str = GUTTER, rest: str = GUTTER) -> str:
    """Wrap escaped text to ``width`` columns: ``first`` begins its first line, ``rest`` all others.

    The result has no newline at its end.
    """
    room = max(1, width - max(width_of(first), width_of(rest)))
    lines = fitted(text, room).rstrip("\n").split("\n")
    return "\n".join(f"{rest if n else first}{line}".rstrip() for n, line in enumerate(lines))


def indented(rendered: str, width: int) -> str:
    """Indent text that was rendered for ``width`` - 2 columns; wrap what is wider all the same."""
    room = width - len(GUTTER)
    rows = [row for line in rendered.split("\n") for row in folded_styled(line, room)]
    return "\n".join(f"{GUTTER}{row}" if row else "" for row in rows)


def folded_styled(line: str, width: int) -> list[str]:
    """Split a line with codes for colours into pieces of at most ``width`` columns."""
    if width_of(_STYLE.sub("", line)) <= width:
        return [line]
    rows, used, active = [""], 0, ""
    for part in _STYLE.split(line):
        if part.startswith("\x1b["):
            active = "" if part in _PLAIN else active + part
            rows[-1] += part
            continue
        for character in part:
            columns = width_of(character)
            if used and used + columns > width:
                rows[-1] += "\x1b[0m" if active else ""
                rows.append(active)
                used = 0
            rows[-1] += character
            used += columns
    return rows
