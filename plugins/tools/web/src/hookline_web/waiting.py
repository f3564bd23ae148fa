"""What a server says about when to come back."""

from __future__ import annotations

import re
from collections.abc import Mapping


def asked_to_wait(headers: Mapping[str, str]) -> str:
    """``; try again in 30 s`` or the like, from ``Retry-After`` (RFC 9110, section 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,7}", value):
        return f"; try again in {int(value)} s"
    date = re.fullmatch(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT", value)
    return f"; try again after {value}" if date else ""
