"""What the commands write: lines and JSON on stdout, sentences on stderr, and the exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

from hookline_hookspecs.cli import confirm as ask

DONE, FAILED, USAGE = 0, 1, 2
"""Exit codes, as everywhere in Hookline."""
_LINE_ENDS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""They end a line for some readers, and JSON allows them raw."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What would move a terminal's cursor or change its colours; tab and line feed may."""


def out(text: str) -> None:
    """Lines to stdout. What would steer the terminal is shown as an escape."""
    _write(sys.stdout, _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text))


def out_json(value: object) -> None:
    """A JSON value on one line of stdout."""
    text = json.dumps(value, ensure_ascii=False, default=str).translate(_LINE_ENDS)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, default=str)
    _write(sys.stdout, text)


def tell(sentence: str) -> None:
    """A sentence on stderr."""
    _write(sys.stderr, f"hookline: {sentence}")


def stop(sentence: str, code: int = USAGE) -> NoReturn:
    """End the command with a sentence on stderr."""
    tell(sentence)
    raise SystemExit(code)


def confirm(question: str) -> None:
    """Ask a person; end the command unless the answer is yes, or where there is no terminal."""
    if not ask(question):
        stop("nothing was done.", FAILED)


def table(heading: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """Rows under a heading, as text in columns."""
    texts = [["" if cell is None else str(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]
    return "\n".join(lines)


def columns() -> int | None:
    """The width of the terminal that reads along; None where none does."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def folded(text: str, indent: int = 0) -> str:
    """The text in lines as wide as the terminal, those after the first indented.

    No word is broken. Where no terminal reads along, the text stays on its line.
    """
    if (width := columns()) is None:
        return text
    return textwrap.fill(
        text,
        max(width, indent + 20),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def tokens(text: str) -> int:
    """An estimate of tokens: a quarter of the characters, rounded up."""
    return -(-len(text) // 4)


def _write(stream: TextIO, text: str) -> None:
    """Write a line; what the stream's encoding has no letters for is written as escapes."""
    encoding = stream.encoding or "utf-8"
    line = text if text.endswith("\n") else text + "\n"
    try:
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # The reader has seen enough, as `head` has; nothing may be flushed into the pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SystemExit(DONE) from None
