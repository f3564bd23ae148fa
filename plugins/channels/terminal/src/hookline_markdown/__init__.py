"""Streamed Markdown for a terminal: split into blocks, rendered, and stripped of control codes.

Used by ``hookline chat`` and ``hookline run``. The functions return text; they write nothing.
"""

from __future__ import annotations

from .blocks import MarkdownBlocks
from .gutter import GUTTER, folded_styled, hanging, indented
from .renderer import fitted, render
from .safe_text import both_ends, literal, one_line, readable
from .streamed_answer import StreamedAnswer
from .text_width import cut, folded, width_of, wrapped
from .window import window_size, window_width

__all__ = [
    "GUTTER",
    "MarkdownBlocks",
    "StreamedAnswer",
    "both_ends",
    "cut",
    "fitted",
    "folded",
    "folded_styled",
    "hanging",
    "indented",
    "literal",
    "one_line",
    "readable",
    "render",
    "width_of",
    "window_size",
    "window_width",
    "wrapped",
]
