"""Errors as sentences, and texts as they are shown and stored."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import ToolError

SHOWN = 120
"""Characters that a list shows of a text."""


class Complaint(ToolError):
    """An error that a model or a person can act on. ``entries`` are texts shown below it, once they
    have passed the gate ``pre_read``."""

    def __init__(self, text: str, entries: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.entries = tuple(entries)


class Missing(Complaint):
    """No entry matches."""


class Several(Complaint):
    """Several entries match: ``entries`` are the candidates."""


def storable(text: str) -> str:
    """Return ``text`` without characters that a database cannot store."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "")


def one_line(text: str, most: int = SHOWN) -> str:
    """``text`` in one line of at most ``most`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def used(chars: int, limit: int) -> str:
    """Return the usage, such as ``63 % of 2,200 characters``."""
    return f"{round(100 * chars / limit)} % of {limit:,} characters"


def counted(number: int, noun: str) -> str:
    """``1 fact``, ``2 facts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
