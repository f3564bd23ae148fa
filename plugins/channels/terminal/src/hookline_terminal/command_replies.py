"""Shows the answer of a slash command: its lines and columns as they are, differences in colour."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hookline_markdown import hanging, readable
from hookline_markdown.themes import BOLD, CYAN, GREEN, RED

from .styles import styled

_DIFF = re.compile(r"^(`{3,})diff\n(.*?)^\1$\n?", re.MULTILINE | re.DOTALL)
_STYLES = {"+": GREEN, "-": RED, "@": CYAN}
_HEADERS = ("diff --", "--- ", "+++ ")


def command_reply(text: str, width: int) -> str:
    """Return the lines to write for an answer; the marks around a difference are left out."""
    return "\n".join(_lines(text, width)) + "\n\n"


def _lines(text: str, width: int) -> Iterator[str]:
    start = 0
    for found in _DIFF.finditer(text):
        if before := text[start : found.start()].rstrip("\n"):
            yield hanging(readable(before), width)
        for line in found[2].rstrip("\n").split("\n"):
            yield styled(hanging(readable(line), width), *_style(line))
        start = found.end()
    if (rest := text[start:].strip("\n")) or not start:
        yield hanging(readable(rest), width)


def _style(line: str) -> tuple[str, ...]:
    if line.startswith(_HEADERS):
        return (BOLD,)
    return (_STYLES[line[0]],) if line[:1] in _STYLES else ()
