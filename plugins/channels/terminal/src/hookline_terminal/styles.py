"""Styles for text written above the input line, in the colours of the current theme."""

from __future__ import annotations

import re

from hookline_markdown.themes import BOLD, DIM, GREEN, PLAIN, RED, YELLOW, recoloured

__all__ = ["BOLD", "DIM", "GREEN", "PLAIN", "RED", "YELLOW", "styled", "unstyled"]
_CODES = re.compile(r"\x1b\[[0-9;]*m")


def styled(text: str, *styles: str) -> str:
    """Return ``text`` in these styles."""
    codes = recoloured("".join(styles))
    return f"{codes}{text}{PLAIN}" if codes else text


def unstyled(text: str) -> str:
    """Return ``text`` without the codes of :func:`styled`."""
    return _CODES.sub("", text)
