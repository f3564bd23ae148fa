"""The keyboard of the terminal, as prompt_toolkit reads it."""

from __future__ import annotations

import select
import sys
import time
from typing import TYPE_CHECKING, TextIO

from prompt_toolkit.input import Input, create_input

if TYPE_CHECKING or sys.platform != "win32":
    from prompt_toolkit.input.vt100 import Vt100Input
    from prompt_toolkit.key_binding.key_processor import KeyPress

    from .input_parser import InputParser

    BURST_GAP, MULTILINE_GAP = 0.02, 0.1
    """Seconds without data that end what was pasted or sent at once; and if it has several lines,
    whose last break would otherwise send the part that has come."""
    MAX_BURST_SECONDS = 2.0
    MAX_READ_CHARS = 512
    """A read of so many characters is a part of a paste."""

    class _Keyboard(Vt100Input):
        """Reads to the end what came at once, so that the parser can tell a paste from keys."""

        def __init__(self, stdin: TextIO) -> None:
            super().__init__(stdin)
            self.vt100_parser = InputParser(lambda key_press: self._buffer.append(key_press))

        def read_keys(self) -> list[KeyPress]:
            """Return the keys that can be read now."""
            data = self.stdin_reader.read()
            parts = [data]
            until = time.monotonic() + MAX_BURST_SECONDS
            while data and _may_go_on(parts) and time.monotonic() < until:
                gap = MULTILINE_GAP if _is_multiline(parts[-1]) else BURST_GAP
                if not select.select([self.fileno()], [], [], gap)[0]:
                    break
                data = self.stdin_reader.read()
                parts.append(data)
            self.vt100_parser.feed("".join(parts))
            keys, self._buffer = self._buffer, []
            return keys

    def _may_go_on(parts: list[str]) -> bool:
        data = parts[0]
        return len(data) >= MAX_READ_CHARS or (len(data) > 1 and ("\r" in data or "\n" in data))

    def _is_multiline(data: str) -> bool:
        return any(mark in data.rstrip("\r\n") for mark in "\r\n")


def open_keyboard() -> Input:
    """Return the keyboard behind the process's stdin."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        return create_input(sys.stdin)
    return _Keyboard(sys.stdin)
