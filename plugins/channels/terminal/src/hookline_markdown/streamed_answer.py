"""A streamed answer: which part is on the screen, and which is still growing."""

from __future__ import annotations

import re

from .blocks import MarkdownBlocks
from .safe_text import readable
from .text_width import wrapped

_MAX_OPEN_LINE_CHARS = 8_000
"""Characters of the growing block that are wrapped at each drawing."""
_CODE = re.compile(r"\s*(```|~~~)| {4}")
_BOLD = re.compile(r"(?<!\S)\*\*(?=\S)|(?<=\S)\*\*(?!\w)")
"""Marks of bold text, but not the stars of ``2 ** 3`` and ``f(**more)``."""


class StreamedAnswer:
    """Follows the streamed text of a turn, response by response."""

    def __init__(self) -> None:
        self._blocks = MarkdownBlocks()
        self._streamed = ""
        self._ended = False

    def begin(self) -> None:
        """Start a turn: discard the text of the one before."""
        self._blocks.finish()
        self._streamed, self._ended = "", False

    def grow(self, text: str) -> list[str]:
        """Add streamed text and return the blocks that it completed."""
        if self._ended:
            self._streamed, self._ended = "", False
        self._streamed += text
        return self._blocks.feed(text)

    @property
    def is_open(self) -> bool:
        """Whether the current response has produced text."""
        return not self._ended and bool(self._streamed.strip())

    def commit(self) -> str:
        """End the current response and return its last block."""
        self._ended = True
        return self._blocks.finish()

    def unstreamed_part(self, reply: str) -> str:
        """Return the part of the reply that was not streamed; all of it if it is another text."""
        streamed, whole = self._streamed.strip(), reply.strip()
        return whole[len(streamed) :] if streamed and whole.startswith(streamed) else reply

    def tail_lines(self, width: int, max_lines: int) -> list[str]:
        """Return the last lines of the growing block, wrapped to ``width`` - 1 columns.

        Except in code, the stars of bold text are removed.
        """
        # Called at every drawing: of a very long block only the end is wrapped, from an offset
        # that does not move with every character.
        tail = self._blocks.tail.strip("\n")
        start = tail.rfind("\n", 0, max(0, len(tail) - max_lines * width)) + 1
        start += (len(tail) - start) // _MAX_OPEN_LINE_CHARS * _MAX_OPEN_LINE_CHARS
        shown = readable(tail[start:].expandtabs(4))
        lines = (shown if _CODE.match(tail) else _BOLD.sub("", shown)).split("\n")
        if lines == [""]:
            return []
        return [part for line in lines for part in wrapped(line, width - 1)][-max_lines:]
