"""Markdown that arrives in pieces: finished blocks are rendered, the growing one is kept apart."""

from __future__ import annotations

import re

_PIECES = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


class Blocks:
    """Cuts a growing Markdown text where a paragraph, a list or a code block has ended.

    A cut comes before a line that starts at the margin after a blank one, outside of code fences.
    The blocks and the tail together are the text, however it was cut into pieces.
    """

    def __init__(self) -> None:
        self._block = ""
        self._line = ""
        self._fence = ""
        self._after_blank = False

    @property
    def tail(self) -> str:
        """What has not been cut off yet."""
        return self._block + self._line

    def feed(self, text: str) -> list[str]:
        """Add a piece; the blocks that it finished."""
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
        """The last block; the next piece begins anew."""
        tail = self.tail
        self._block = self._line = self._fence = ""
        self._after_blank = False
        return tail

    def _end_line(self) -> None:
        line, self._line = self._line, ""
        self._block += line
        fence = _FENCE.match(line)
        if self._fence:
            # A fence ends with at least as many of its own marks and nothing after them.
            if fence and fence[1].startswith(self._fence) and not fence[2].strip():
                self._fence = ""
        elif fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence = fence[1]
        blank = not line.strip()
        self._after_blank = blank and not self._fence and bool(self._block.strip())
