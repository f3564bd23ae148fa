"""The hash chain: SHA-256 of the hash before and a row's canonical JSON (RFC 8785)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

START = "0" * 64
"""The hash before the first row."""
HASHED_COLUMNS = (
    "node",
    "n",
    "at",
    "channel",
    "session",
    "turn",
    "kind",
    "verdict",
    "kid",
    "body",
    "seq",
)
"""The columns that are hashed. They are strings and integers below 2 ** 53; their canonical JSON is
that of :mod:`json` with sorted keys and without spaces."""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def canonical(value: Mapping[str, Any]) -> bytes:
    """Return canonical JSON; the names must be ASCII, the values strings, integers and the like."""
    return _encode(value).encode("utf-8", "surrogatepass")


def row_hash(previous: str, row: Mapping[str, Any]) -> str:
    """Return the ``sha`` of a row that follows a row with the ``sha`` ``previous``."""
    data = bytes.fromhex(previous) + canonical({name: row[name] for name in HASHED_COLUMNS})
    return hashlib.sha256(data).hexdigest()
