"""Where the demo writes: readable on a terminal, plain text everywhere else."""

from __future__ import annotations

import os
import re
import shutil
from textwrap import fill
from typing import Literal, TextIO

Style = Literal["plain", "bold", "dim", "good", "bad", "notice"]

_CODES = {"bold": "1", "dim": "2", "good": "32", "bad": "31", "notice": "33"}
"""Style to its ANSI colour code (ECMA-48, Select Graphic Rendition)."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but tab and newline: what a tool printed may not steer the terminal."""


class Screen:
    """Writes at once, line by line or word by word, without ever moving the cursor.

    Colours only on a terminal, and not when ``NO_COLOR`` is set or ``TERM`` is ``dumb``.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._colours = wanted and stream.isatty()

    def say(self, text: str = "", style: Style = "plain") -> None:
        """Write a line, or several; on a terminal they end between words."""
        self.write(self._fitted(text) if self._stream.isatty() else text, style)
        self._put("\n")

    def _fitted(self, text: str) -> str:
        """The text in lines as wide as the terminal, each indented as the one it continues."""
        width = max(20, shutil.get_terminal_size().columns)
        lines = [
            fill(
                line,
                width,
                subsequent_indent=line[: len(line) - len(line.lstrip())],
                break_long_words=False,
                break_on_hyphens=False,
                expand_tabs=False,
                replace_whitespace=False,
            )
            for line in text.split("\n")
        ]
        return "\n".join(lines)

    def write(self, text: str, style: Style = "plain") -> None:
        """Write text without ending its line."""
        text = _CONTROL.sub("", text)
        code = _CODES.get(style)
        self._put(f"\x1b[{code}m{text}\x1b[0m" if self._colours and code and text else text)

    def _put(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()
