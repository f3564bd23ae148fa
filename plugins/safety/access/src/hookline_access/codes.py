"""Codes that people read and type: created, parsed leniently, stored as a digest."""

from __future__ import annotations

import hashlib
import re
import secrets

ALPHABET = "BCDFGHJKMNPQRSTVWXYZ23456789"
"""No vowels, so that no code is a word, and no look-alikes (0 O, 1 I L)."""
PAIRING_CODE_CHARS = 8
"""There are 4e11 pairing codes."""
CLAIM_CODE_CHARS = 12
"""There are 2e17 claim codes."""
_BETWEEN = re.compile(r"[\s-]+")


def new_code(length: int) -> str:
    """Create a random code."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def format_code(code: str) -> str:
    """Format a long code in groups of four."""
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


def parse_code(text: str, length: int) -> str | None:
    """Parse a code, ignoring case, spaces and dashes; None if ``text`` is anything else."""
    if len(text) > 4 * length:
        return None
    code = _BETWEEN.sub("", text).upper()
    return code if len(code) == length and set(code) <= set(ALPHABET) else None


def digest(code: str) -> str:
    """SHA-256 of a code, which is random enough to need no salt."""
    return hashlib.sha256(code.encode("ascii")).hexdigest()
