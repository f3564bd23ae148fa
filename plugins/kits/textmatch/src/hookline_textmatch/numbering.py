"""Formats lines with their numbers, as ``read_file`` and the matcher's hints show them."""

from __future__ import annotations

from collections.abc import Iterable

LINE_CHARS = 2_000
"""Maximum characters of a line that are shown."""


def numbered(lines: Iterable[str], first: int) -> str:
    """Return the lines as ``12<tab>text``; padding would cost a token per line."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))


def cut(line: str, limit: int = LINE_CHARS) -> str:
    """Return ``line``, or its beginning with a mark if it is longer than ``limit``."""
    if len(line) <= limit:
        return line
    return f"{line[:limit]}… [line cut after {limit} characters]"
