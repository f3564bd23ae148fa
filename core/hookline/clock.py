"""The clock that TTLs, expiry and idle times use; tests shift it (``HOOKLINE_CLOCK_OFFSET``)."""

from __future__ import annotations

import os
import time
from datetime import date

_offset = float(os.environ.get("HOOKLINE_CLOCK_OFFSET") or 0)


def now() -> float:
    """Unix time in seconds."""
    return time.time() + _offset


def today() -> str:
    """The local date, such as ``2026-11-22``. It has no time because it is part of the prompt."""
    return date.fromtimestamp(now()).isoformat()
