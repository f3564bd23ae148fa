"""What a terminal would show of a program's output: progress bars and colours are folded.

A carriage return or a cursor movement rewrites what is there already, as ``tqdm``, ``npm`` and
``docker pull`` do; only the last state is kept. Escape sequences for colours and titles are left
out. Lines that a program can still reach are held back, at most `MAX_OPEN_LINES`.
"""

from __future__ import annotations

import re

MAX_OPEN_LINES = 100
"""Lines above the last one that a program may still rewrite."""
MAX_OPEN_CHARS = 16_000
"""Characters of a line that a program may still rewrite."""
MAX_COLUMN = 10_000
"""Columns to which the cursor may be moved; a longer line is only continued."""
MAX_SEQUENCE_CHARS = 4_000
"""Characters of an unfinished escape sequence that are held back."""

_TOKEN = re.compile(
    r"(?P<text>[^\x1b\r\n\b\x9b]+)|(?P<newline>\n)|(?P<return>\r)|(?P<back>\x08)"
    r"|(?:\x1b\[|\x9b)(?P<numbers>[0-9;:?<=>]*)[ -/]*(?P<command>[@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b\n\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]|\x1b(?P<plain>[0-OQ-WYZ\\`-~])"
)
_UNFINISHED = re.compile(r"(?:\x1b\[?|\x9b)[0-9;:?<=>]*[ -/]*\Z|(?P<string>\x1b[\]PX^_])[^\n]*\Z")
"""What may become an escape sequence with what comes next."""


class TerminalText:
    """Folds the output of one program as it comes."""

    def __init__(self) -> None:
        self._lines: list[str] = [""]
        self._row = 0
        self._column = 0
        self._saved = (0, 0)
        self._page: int | None = None  # the first row since the screen was cleared
        self._rest = ""

    @property
    def open_text(self) -> str:
        """The lines that may still change."""
        return "\n".join(self._lines)

    def feed(self, text: str) -> str:
        """Add output; return the lines that can no longer change."""
        text, self._rest = self._rest + text, ""
        end = 0
        while end < len(text):
            token = _TOKEN.match(text, end)
            if token is None:
                if unfinished := _UNFINISHED.match(text, end):
                    self._rest = text[end:]
                    if len(self._rest) > MAX_SEQUENCE_CHARS:  # a picture
                        self._rest = unfinished["string"] or ""
                    break
                end += 1
                continue
            self._apply(token)
            end = token.end()
        return self._closed()

    def _apply(self, token: re.Match[str]) -> None:
        if token["text"]:
            self._write(token["text"])
        elif token["newline"]:
            self._row, self._column = self._row + 1, 0
            if self._row == len(self._lines):
                self._lines.append("")
        elif token["return"]:
            self._column = 0
        elif token["back"]:
            self._column = max(0, self._column - 1)
        elif token["command"]:
            self._move(token["command"], token["numbers"])
        elif token["plain"] == "7":
            self._saved = (self._row, self._column)
        elif token["plain"] == "8":
            self._restore()
        elif token["plain"] == "M":
            self._row = max(0, self._row - 1)

    def _write(self, text: str) -> None:
        line = self._lines[self._row]
        if self._column > len(line):
            line = line.ljust(self._column)
        after = self._column + len(text)
        self._lines[self._row] = line[: self._column] + text + line[after:]
        self._column = after

    def _move(self, command: str, numbers: str) -> None:
        first = re.match(r"[0-9]{1,5}", numbers)
        count = int(first[0]) if first else 0
        if command in "AF":
            self._row = max(0, self._row - max(1, count))
        elif command in "BE":
            self._row = min(len(self._lines) - 1, self._row + max(1, count))
        elif command == "C":
            self._column = min(MAX_COLUMN, self._column + max(1, count))
        elif command == "D":
            self._column = max(0, self._column - max(1, count))
        elif command == "G":
            self._column = min(MAX_COLUMN, max(1, count) - 1)
        elif command == "H" or command == "f":
            self._go_to(numbers)
        elif command == "s":
            self._saved = (self._row, self._column)
        elif command == "u":
            self._restore()
        elif command in "PX":
            self._erase_chars(max(1, count), shift=command == "P")
        elif command == "K":
            self._erase_line(count)
        elif command == "J":
            self._erase_screen(count)
        if command in "EF":
            self._column = 0

    def _go_to(self, numbers: str) -> None:
        """Go to a place of the screen, of which the first row is the first open one."""
        row, _, column = numbers.partition(";")
        down, right = (int(n) if n.isdecimal() and len(n) < 6 else 1 for n in (row, column))
        first = self._page or 0
        self._row = min(len(self._lines) - 1, first + max(1, down) - 1)
        self._column = min(MAX_COLUMN, max(1, right) - 1)

    def _restore(self) -> None:
        self._row = min(self._saved[0], len(self._lines) - 1)
        self._column = self._saved[1]

    def _erase_chars(self, count: int, *, shift: bool) -> None:
        line = self._lines[self._row]
        after = line[self._column + count :]
        blank = "" if shift or not after else " " * count
        self._lines[self._row] = line[: self._column] + blank + after

    def _erase_screen(self, part: int) -> None:
        if part == 0:
            self._erase_line(0)
            del self._lines[self._row + 1 :]
        elif part in (2, 3):
            # What came before the first clearing stays readable; each later one begins again.
            if self._page is None:
                self._page = len(self._lines) - (not self._lines[-1])
            del self._lines[self._page :]
            self._lines.append("")
            self._row, self._column = self._page, 0

    def _erase_line(self, part: int) -> None:
        line = self._lines[self._row]
        if part == 0:
            self._lines[self._row] = line[: self._column]
        elif part == 1:
            self._lines[self._row] = " " * min(self._column, len(line)) + line[self._column :]
        else:
            self._lines[self._row] = ""

    def _closed(self) -> str:
        if len(self._lines[-1]) > MAX_OPEN_CHARS:  # No progress bar is that long.
            shown = self.open_text
            self._lines, self._row, self._column, self._page = [""], 0, 0, None
            return shown
        closed = min(self._row, len(self._lines) - 1 - MAX_OPEN_LINES)
        if closed <= 0:
            return ""
        shown = "".join(f"{line}\n" for line in self._lines[:closed])
        del self._lines[:closed]
        self._row -= closed
        self._saved = (max(0, self._saved[0] - closed), self._saved[1])
        self._page = None if self._page is None else max(0, self._page - closed)
        return shown
