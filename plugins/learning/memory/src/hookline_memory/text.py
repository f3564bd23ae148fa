"""How texts are stored and shown."""

from __future__ import annotations

from hookline_hookspecs.sentences import N_

MAX_LINE_CHARS = 120
"""Characters of a text in a list."""


def storable(text: str) -> str:
    """Return ``text`` without characters that a database cannot store."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "")


def one_line(text: str, max_chars: int = MAX_LINE_CHARS) -> str:
    """Return ``text`` in one line of at most ``max_chars`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= max_chars else flat[: max_chars - 1] + "…"


def format_usage(chars: int, limit: int) -> str:
    """Return the usage, such as ``63 % of 2,200 characters``."""
    return N_(f"{round(100 * chars / limit)} % of {limit:,} characters")


def count_of(number: int, noun: str) -> str:
    """Return ``1 fact``, ``2 facts`` and so on."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
