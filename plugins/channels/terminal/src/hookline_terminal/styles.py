"""Colours for text written above the input line. ``NO_COLOR`` leaves bold and dim only."""

from __future__ import annotations

import os
import re
from typing import Final

PLAIN: Final = "\x1b[0m"
DIM: Final = "\x1b[2m"
BOLD: Final = "\x1b[1m"
RED: Final = "\x1b[31m"
GREEN: Final = "\x1b[32m"
YELLOW: Final = "\x1b[33m"
_CODES = re.compile(r"\x1b\[\d+m")
_HUES = frozenset({RED, GREEN, YELLOW})


def styled(text: str, *styles: str) -> str:
    """Return ``text`` in these styles."""
    if os.environ.get("NO_COLOR"):
        styles = tuple(style for style in styles if style not in _HUES)
    return f"{''.join(styles)}{text}{PLAIN}" if any(styles) else text


def unstyled(text: str) -> str:
    """Return ``text`` without the codes of :func:`styled`."""
    return _CODES.sub("", text)
