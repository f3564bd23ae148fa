"""The answer that is growing: what of it is on the screen, and what is still open."""

from __future__ import annotations

import re

from .blocks import Blocks
from .safe_text import readable


class Answer:
    """Follows the streamed pieces of a turn, one response of the model after the other."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._said = ""
        self._ended = False

    def begin(self) -> None:
        """A turn begins: nothing of its answer is shown yet."""
        self._blocks.finish()
        self._said, self._ended = "", False

    def grow(self, text: str) -> list[str]:
        """Add a piece; the blocks that can be shown for good."""
        if self._ended:
            self._said, self._ended = "", False
        self._said += text
        return self._blocks.feed(text)

    def commit(self) -> str:
        """The response is over: its open block, which is to be shown now."""
        self._ended = True
        return self._blocks.finish()

    def left_of(self, reply: str) -> str:
        """What of the reply was not streamed: all of it if it is another text."""
        said, whole = self._said.strip(), reply.strip()
        return whole[len(said) :] if said and whole.startswith(said) else reply

    def tail_lines(self, width: int) -> list[str]:
        """The open block as lines of at most ``width`` characters."""
        lines = readable(self._blocks.tail.strip("\n").expandtabs(4)).split("\n")
        return [part for line in lines for part in _folded(line, width)] if lines != [""] else []


def _folded(line: str, width: int) -> list[str]:
    return re.findall(f".{{1,{width - 1}}}", line) or [""]
