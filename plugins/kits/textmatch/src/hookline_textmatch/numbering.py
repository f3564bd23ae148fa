"""Lines with their numbers, as ``read_file`` and the matcher's hints show them."""

from __future__ import annotations

from collections.abc import Iterable

LINE_CHARS = 2_000
"""Characters of one line that are shown."""


def numbered(lines: Iterable[str], first: int) -> str:
    """The lines with their numbers, ``12<tab>text``; padding would cost a token a line."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))


def cut(line: str, limit: int = LINE_CHARS) -> str:
    """``line``, or its beginning with a mark that says so."""
    if len(line) <= limit:
        return line
    return f"{line[:limit]}… [line cut after {limit} characters]"
