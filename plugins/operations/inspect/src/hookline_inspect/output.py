"""Prints text and JSON on stdout and errors on stderr, and defines the exit codes."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

from hookline_hookspecs.cli import confirm as ask
from hookline_hookspecs.visible_text import spell_out_prose

DONE, FAILED, USAGE = 0, 1, 2
"""Exit codes, as everywhere in Hookline."""
_LINE_ENDS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""Characters that JSON allows and that end a line for some programs, with their escapes."""


def print_text(text: str) -> None:
    """Print text on stdout; what controls a terminal or reorders text is shown as escapes."""
    _write(sys.stdout, spell_out_prose(text))


def print_json(value: object) -> None:
    """Print a value as JSON on one line of stdout."""
    text = json.dumps(value, ensure_ascii=False, default=str).translate(_LINE_ENDS)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, default=str)
    _write(sys.stdout, text)


def print_error(sentence: str) -> None:
    """Print an error message on stderr."""
    _write(sys.stderr, f"hookline: {spell_out_prose(sentence)}")


def exit_with_error(sentence: str, code: int = USAGE) -> NoReturn:
    """End the command with a message on stderr."""
    print_error(sentence)
    raise SystemExit(code)


def confirm(question: str) -> None:
    """Ask the person; end the command unless they confirm. Without a terminal it ends too."""
    if not ask(question):
        exit_with_error("nothing was changed.", FAILED)


def table(heading: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """A heading and rows as text in columns."""
    texts = [["" if cell is None else str(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]
    return "\n".join(lines)


def terminal_columns() -> int | None:
    """The width of the terminal; None if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrap(text: str, indent: int = 0) -> str:
    """Wrap a text to the terminal's width, with all lines but the first indented.

    Words are not broken. If stdout is not a terminal, the text stays on one line.
    """
    if (width := terminal_columns()) is None:
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
    """Write a line; characters that the stream cannot encode become escapes."""
    encoding = stream.encoding or "utf-8"
    line = text if text.endswith("\n") else text + "\n"
    try:
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe; prevent a second error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SystemExit(DONE) from None
