"""The demo's output: styled and wrapped on a terminal, plain text elsewhere."""

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
"""Control characters except tab and newline, which could steer the terminal."""


class Screen:
    """Writes text immediately, without moving the cursor.

    Colours only on a terminal, and not when ``NO_COLOR`` is set or ``TERM`` is ``dumb``.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        allowed = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._colours = allowed and stream.isatty()

    def say(self, text: str = "", style: Style = "plain") -> None:
        """Write one or more lines, wrapped between words on a terminal."""
        self.write(self._wrap(text) if self._stream.isatty() else text, style)
        self._put("\n")

    def _wrap(self, text: str) -> str:
        """Wrap a text to the terminal's width; continuation lines keep the indentation."""
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
