"""Parses the argument ``since`` of a search: an age or a day."""

from __future__ import annotations

import re
from datetime import datetime

from hookline_hookspecs import ToolError

_AGE = re.compile(r"(\d{1,6})\s*([hdwmy])", re.IGNORECASE)
_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400, "m": 30 * 86400, "y": 365 * 86400}


def parse_since(text: str | None, now: float) -> float:
    """Return Unix time in seconds; 0 for None or an empty text. Days are in the host's local time.

    Raises:
        ToolError: the text is neither an age nor a date.
    """
    text = (text or "").strip()
    if not text:
        return 0.0
    if age := _AGE.fullmatch(text):
        return now - int(age[1]) * _SECONDS[age[2].lower()]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise ToolError(
            f"since={text[:60]!r} is not a date; write a day such as 2026-01-31, or an age such as "
            "12h, 7d, 3w, 6m (months) or 1y"
        ) from None
