"""Secrets in a config: which values are secret, which cannot be used, and how they are masked."""

from __future__ import annotations

import json
import re

from .problems import Key

MASK = "********"
NO_KEY = "none"
PRIVATE_KEY = "-----BEGIN "
SPACE_AROUND = "begins or ends with a space or the end of a line, which is left out."
SHORTEST_SECRET = 8
SECRET_NAME = re.compile(
    r"(api[-_]?keys?|tokens?|secrets?|passwor[dt]|passwd|passphrase|credentials?|authorization|_key)$",
    re.I,
)
URL_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s]+)(?=@)")


def is_secret(key: Key) -> bool:
    """Whether a key, or a section around it, is named like a secret."""
    return any(map(SECRET_NAME.search, key))


def fault_of_secret(text: str, key: Key) -> str | None:
    """Why a secret cannot be used as it is written, or None; what is said does not repeat it."""
    line = text.replace("\n", "") if text.startswith(PRIVATE_KEY) else text
    if line.isprintable() and not ("headers" in key and max(line, default="") > "\xff"):
        return None
    return (
        "holds a control character, or a letter that an HTTP header cannot carry; write it without."
    )


def masked(text: str, key: Key) -> str:
    """The `text` at `key` with a mask for passwords in URLs, or for all of it if it is a secret."""
    return (
        MASK
        if is_secret(key)
        else URL_PASSWORD.sub(lambda found: found[0].removesuffix(found[1]) + MASK, text)
    )


def quoted(value: object, key: Key) -> str:
    """The `value` at `key` for a sentence: shortened, secrets masked."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return masked(json.dumps(value, ensure_ascii=False, default=str), key)[:60]
