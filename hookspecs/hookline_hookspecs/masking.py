"""Masks secret values of settings: decides which keys are secret, and what is shown instead.

``hookline config show``, error messages, traces and the settings pages use these rules. Secrets
that may appear anywhere in a text, such as a log line, are replaced by :mod:`.secrets`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "********"
"""What is shown in place of a secret value."""
SECRET_NAME = re.compile(
    r"(api[-_]?keys?|tokens?|secrets?|passwor[dt]|passwd|passphrase|credentials?|authorization|_key)$",
    re.I,
)
"""Matches names of settings and environment variables whose values are secret."""
URL_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s]+)(?=@)")
"""Matches the part of a URL that ends with a password, which is group 1."""


def is_secret_name(name: str) -> bool:
    """Return True if the value of a setting or variable of this name is secret."""
    return SECRET_NAME.search(name) is not None


def is_secret_key(key: Iterable[str]) -> bool:
    """Return True if one of the parts of a key is named like a secret."""
    return any(map(is_secret_name, key))


def mask_value(text: str, key: Iterable[str]) -> str:
    """Mask the value `text` at `key`: all of it if the key is secret, else passwords in URLs."""
    if is_secret_key(key):
        return MASK
    return URL_PASSWORD.sub(lambda match: match[0].removesuffix(match[1]) + MASK, text)
