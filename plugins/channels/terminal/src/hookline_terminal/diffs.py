"""Shows a unified diff with line numbers, in green and red."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hookline_markdown import folded, literal

from .styles import DIM, GREEN, RED, styled

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_STYLES = {"+": GREEN, "-": RED}


def diff_rows(diff: str, width: int) -> list[str]:
    """Return the rows of a unified diff, wrapped to ``width`` columns."""
    marked = list(_numbered(diff))
    gutter = max((len(str(number)) for number, _, _ in marked), default=1) + 2
    rows = []
    for number, mark, line in marked:
        if not number:
            rows.append(styled(f"{'⋮':>{gutter}}", DIM))
            continue
        label = f"{number:>{gutter}}"
        for part in folded(literal(line.expandtabs(4)), max(8, width - gutter - 3)):
            text = f"{mark} {part}".rstrip()
            body = styled(text, _STYLES[mark]) if mark in _STYLES else text
            rows.append(f"{styled(label, DIM)} {body}".rstrip())
            label = " " * gutter
    return rows


def _numbered(diff: str) -> Iterator[tuple[int, str, str]]:
    """Yield number, mark and text of each line; the number 0 marks a gap between hunks."""
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
