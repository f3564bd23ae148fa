"""Markdown that a model streams, shown in a terminal: cut into blocks, rendered, made harmless.

Used by the plugins that write answers to a screen. Nothing here writes by itself.
"""

from __future__ import annotations

from .answer import Answer
from .blocks import Blocks
from .cells import cut, folded, width_of, wrapped
from .rendering import as_written, fitted, render
from .safe_text import literal, one_line, readable
from .window import window_size, window_width

__all__ = [
    "Answer",
    "Blocks",
    "as_written",
    "cut",
    "fitted",
    "folded",
    "literal",
    "one_line",
    "readable",
    "render",
    "width_of",
    "window_size",
    "window_width",
    "wrapped",
]
