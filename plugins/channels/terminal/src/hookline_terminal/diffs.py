"""A unified diff as people read it: line numbers, green and red."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hookline_markdown import folded, literal

from .paint import DIM, GREEN, RED, painted

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_STYLES = {"+": GREEN, "-": RED}


def diff_rows(diff: str, width: int) -> list[str]:
    """The lines of a unified diff, each on as many rows of ``width`` columns as it needs."""
    marked = list(_numbered(diff))
    gutter = max((len(str(number)) for number, _, _ in marked), default=1) + 2
    rows = []
    for number, mark, line in marked:
        if not number:
            rows.append(painted(f"{'⋮':>{gutter}}", DIM))
            continue
        label = f"{number:>{gutter}}"
        for part in folded(literal(line.expandtabs(4)), max(8, width - gutter - 3)):
            text = f"{mark} {part}".rstrip()
            body = painted(text, _STYLES[mark]) if mark in _STYLES else text
            rows.append(f"{painted(label, DIM)} {body}".rstrip())
            label = " " * gutter
    return rows


def _numbered(diff: str) -> Iterator[tuple[int, str, str]]:
    """Number, mark and text of each line; the number 0 stands between two places of the file."""
    old = new = 0
    begun = False
    for line in diff.split("\n"):
        if hunk := _HUNK.match(line):
            if begun:
                yield 0, "", ""
            old, new, begun = int(hunk[1]), int(hunk[2]), True
        elif begun and line[:1] in ("+", "-", " "):
            mark = line[0]
            yield (old if mark == "-" else new), mark, line[1:]
            old += mark != "+"
            new += mark != "-"
