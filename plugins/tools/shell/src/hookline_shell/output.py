"""A command's output, kept within bounds while it comes."""

from __future__ import annotations

import codecs
from collections import deque


class Output:
    """Text decoded from bytes (UTF-8, wrong bytes replaced), of which head and tail are kept.

    Memory stays below a few times ``limit`` (characters) however much is fed.
    """

    def __init__(self, limit: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head_room = limit - limit // 2
        self._tail_room = limit // 2
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._in_tail = 0
        self._left_out = 0

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Add bytes as they come; ``final`` ends an incomplete character."""
        text = self._decoder.decode(data, final)
        if self._head_room:
            self._head.append(text[: self._head_room])
            text, room = text[self._head_room :], self._head_room
            self._head_room = max(0, room - len(self._head[-1]))
        if text:
            self._tail.append(text)
            self._in_tail += len(text)
        while self._in_tail - len(self._tail[0] if self._tail else "") >= self._tail_room:
            if not self._tail:
                break
            dropped = len(self._tail.popleft())
            self._in_tail -= dropped
            self._left_out += dropped

    def text(self) -> str:
        """What is kept, with a mark that tells how much is left out."""
        tail = "".join(self._tail)
        over = max(0, len(tail) - self._tail_room)
        left_out = self._left_out + over
        mark = f"\n[… {left_out:,} characters left out …]\n" if left_out else ""
        return "".join(self._head) + mark + tail[over:]
