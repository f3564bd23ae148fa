"""Splits Markdown that arrives in pieces into blocks that can be rendered."""

from __future__ import annotations

import re

_PIECES = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


class MarkdownBlocks:
    """Splits a growing Markdown text after each paragraph, list or code block.

    A block ends before an unindented line that follows a blank one, outside code fences. Blocks and
    tail joined are the whole text, whatever the pieces were.
    """

    def __init__(self) -> None:
        self._block = ""
        self._line = ""
        self._fence = ""
        self._after_blank = False

    @property
    def tail(self) -> str:
        """The block that is still growing."""
        return self._block + self._line

    def feed(self, text: str) -> list[str]:
        """Add text and return the blocks that it completed."""
        finished = []
        for piece in _PIECES.findall(text):
            if not self._line and self._after_blank and not piece[0].isspace():
                finished.append(self._block)
                self._block, self._after_blank = "", False
            self._line += piece
            if piece.endswith("\n"):
                self._end_line()
        return finished

    def finish(self) -> str:
        """Return the last block and start a new text."""
        tail = self.tail
        self._block = self._line = self._fence = ""
        self._after_blank = False
        return tail

    def _end_line(self) -> None:
        line, self._line = self._line, ""
        self._block += line
        fence = _FENCE.match(line)
        if self._fence:
            # A fence is closed by at least as many of its own marks with nothing after them.
            if fence and fence[1].startswith(self._fence) and not fence[2].strip():
                self._fence = ""
        elif fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence = fence[1]
        blank = not line.strip()
        self._after_blank = blank and not self._fence and bool(self._block.strip())
