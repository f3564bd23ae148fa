"""The answer that is growing: what of it is on the screen, and what is still open."""

from __future__ import annotations

import re

from .blocks import Blocks
from .cells import wrapped
from .safe_text import readable

_LONGEST = 8_000
"""Characters of one open line that are looked at."""
_CODE = re.compile(r"\s*(```|~~~)| {4}")
_BOLD = re.compile(r"(?<!\S)\*\*(?=\S)|(?<=\S)\*\*(?!\w)")
"""What begins and ends bold words; not the stars of ``2 ** 3`` and ``f(**more)``."""


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

    @property
    def is_open(self) -> bool:
        """Whether something of the response under way was said."""
        return not self._ended and bool(self._said.strip())

    def commit(self) -> str:
        """The response is over: its open block, which is to be shown now."""
        self._ended = True
        return self._blocks.finish()

    def left_of(self, reply: str) -> str:
        """What of the reply was not streamed: all of it if it is another text."""
        said, whole = self._said.strip(), reply.strip()
        return whole[len(said) :] if said and whole.startswith(said) else reply

    def tail_lines(self, width: int, most: int) -> list[str]:
        """The last ``most`` lines of the open block, each of at most ``width`` - 1 columns: broken
        between words and, but for code, without the stars of bold words."""
        # It is asked for at every drawing; of a very long block only the end is looked at, from a
        # place that stays while it grows.
        tail = self._blocks.tail.strip("\n")
        start = tail.rfind("\n", 0, max(0, len(tail) - most * width)) + 1
        start += (len(tail) - start) // _LONGEST * _LONGEST
        shown = readable(tail[start:].expandtabs(4))
        lines = (shown if _CODE.match(tail) else _BOLD.sub("", shown)).split("\n")
        if lines == [""]:
            return []
        return [part for line in lines for part in wrapped(line, width - 1)][-most:]
