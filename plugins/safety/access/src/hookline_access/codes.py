"""Codes that people read from a screen and type: made, read leniently, kept as a digest."""

from __future__ import annotations

import hashlib
import re
import secrets

ALPHABET = "BCDFGHJKMNPQRSTVWXYZ23456789"
"""No vowels, so that no code is a word; nothing that looks like something else (0 O, 1 I L)."""
PAIRING, CLAIM, QUESTION = 8, 12, 5
"""Characters: 4e11 pairing codes and 2e17 claim codes. The code of a question names it and is no
secret, because only an admin's answer counts."""
_BETWEEN = re.compile(r"[\s-]+")


def new_code(length: int) -> str:
    """A random code."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def shown(code: str) -> str:
    """A long code in groups of four."""
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


def typed(text: str, length: int) -> str | None:
    """The code that ``text`` consists of, or None; letter case, spaces and dashes do not matter."""
    if len(text) > 4 * length:
        return None
    code = _BETWEEN.sub("", text).upper()
    return code if len(code) == length and set(code) <= set(ALPHABET) else None


def digest(code: str) -> str:
    """SHA-256 of a code, which is random enough to need no salt."""
    return hashlib.sha256(code.encode("ascii")).hexdigest()
