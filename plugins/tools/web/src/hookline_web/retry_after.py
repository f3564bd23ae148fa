"""The header ``Retry-After`` as a hint for the model."""

from __future__ import annotations

import re
from collections.abc import Mapping


def retry_hint(headers: Mapping[str, str]) -> str:
    """A hint such as ``; try again in 30 s`` (RFC 9110, section 10.2.3), or nothing."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,7}", value):
        return f"; try again in {int(value)} s"
    date = re.fullmatch(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT", value)
    return f"; try again after {value}" if date else ""
