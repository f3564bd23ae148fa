"""A command's output, of which a limited part is kept."""

from __future__ import annotations

import codecs
from collections import deque

from .terminal_text import TerminalText


class BoundedOutput:
    """The beginning and end of a text as a terminal shows it, decoded from UTF-8 with invalid bytes
    replaced.

    It needs memory for a few times ``limit`` characters, however much is fed.
    """

    def __init__(self, limit: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._terminal = TerminalText()
        self._head_left = limit - limit // 2
        self._tail_limit = limit // 2
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tail_chars = 0
        self._dropped = 0

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Add bytes as they come; ``final`` ends an incomplete character."""
        text = self._terminal.feed(self._decoder.decode(data, final))
        if self._head_left:
            self._head.append(text[: self._head_left])
            text = text[self._head_left :]
            self._head_left -= len(self._head[-1])
        if text:
            self._tail.append(text)
            self._tail_chars += len(text)
        while self._tail_chars - len(self._tail[0] if self._tail else "") >= self._tail_limit:
            if not self._tail:
                break
            dropped = len(self._tail.popleft())
            self._tail_chars -= dropped
            self._dropped += dropped

    def text(self) -> str:
        """The kept text, with a marker that says how much is left out."""
        shown = self._terminal.open_text
        head, shown = shown[: self._head_left], shown[self._head_left :]
        tail = "".join(self._tail) + shown
        over = max(0, len(tail) - self._tail_limit)
        left_out = self._dropped + over
        mark = f"\n[… {left_out:,} characters left out …]\n" if left_out else ""
        return "".join(self._head) + head + mark + tail[over:]
