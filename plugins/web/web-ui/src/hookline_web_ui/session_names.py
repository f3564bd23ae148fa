"""What a chat is called: its title, else the words that it began with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import Host

_ATTACHED = re.compile(r"\(attached file .*/media/web/[0-9a-f]{16}.*\)")
"""Core's note to the model about a file sent from the page."""
_NO_TEXT = "(no text)"
"""Core's text for a message with images only."""


async def session_name(host: Host, session_id: str) -> str:
    """Return the name of a stored session; empty if it is not stored, or has no words."""
    rows = await host.storage.fetch("session", id=session_id)
    return name_of(rows[0]) if rows else ""


def name_of(row: Mapping[str, Any]) -> str:
    """Return the name of a session's row."""
    return str(row["title"] or first_words(row))


def first_words(row: Mapping[str, Any]) -> str:
    """Return the words that a session began with, or the name of its first file."""
    words = " ".join(person_text(str(row["first_words"] or "")).split())
    return (words or str(row["first_file"] or ""))[:160]


def person_text(text: str) -> str:
    """Return a person's text without core's notes about files."""
    pieces = [one for one in text.split("\n\n") if not _ATTACHED.fullmatch(one)]
    return "" if pieces == [_NO_TEXT] else "\n\n".join(pieces)
