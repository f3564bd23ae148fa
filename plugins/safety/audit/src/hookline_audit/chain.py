"""The chain: each row's SHA-256 is of the one before and of the row's canonical JSON (RFC 8785)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

START = "0" * 64
"""What the first row follows."""
CHAINED = ("node", "n", "at", "channel", "session", "turn", "kind", "verdict", "kid", "body", "seq")
"""The columns that are hashed: strings and integers below 2 ** 53, whose canonical JSON is that of
:mod:`json` with sorted keys and without blanks."""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical(value: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of a mapping of ASCII names to strings, integers and the like."""
    return _encode(value).encode("utf-8", "surrogatepass")


def chained(previous: str, row: Mapping[str, Any]) -> str:
    """Return the ``sha`` of a row that follows the one whose ``sha`` is ``previous``."""
    data = bytes.fromhex(previous) + canonical({name: row[name] for name in CHAINED})
    return hashlib.sha256(data).hexdigest()
