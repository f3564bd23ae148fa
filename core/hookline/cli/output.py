"""Exit codes, and lines on stderr."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from textwrap import fill

from hookline_hookspecs.secrets import redacted

FAILED, USAGE, INTERRUPTED = 1, 2, 130
"""Exit codes; 0 is success."""


def err(text: str) -> None:
    """Write a line to stderr, without secrets; on a terminal, lines break between words."""
    text = redacted(text).rstrip("\n")
    if sys.stderr.isatty():
        width = max(20, get_terminal_size().columns)
        lines = text.split("\n")
        text = "\n".join(
            fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines
        )
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
