"""The ids of sessions: generated ones, and those that a person chooses."""

from __future__ import annotations

import re
import uuid
from datetime import date

_GENERATED = re.compile(r"\d{8}-[0-9a-f]{8}")
MAX_ID_CHARS = 200


def new_session_id() -> str:
    """Return the id of a new session: the date and eight hexadecimal digits."""
    return f"{date.today():%Y%m%d}-{uuid.uuid4().hex[:8]}"


def is_generated(session_id: str) -> bool:
    """Return whether the id was generated, and not chosen by a person."""
    return _GENERATED.fullmatch(session_id) is not None


def is_valid(session_id: str) -> bool:
    """Return whether a person may choose this id."""
    return (
        0 < len(session_id) <= MAX_ID_CHARS and session_id.isprintable() and "/" not in session_id
    )
