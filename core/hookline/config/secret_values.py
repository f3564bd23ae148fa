"""Checks secret values in a config."""

from __future__ import annotations

from hookline_hookspecs.setting_errors import Key

NO_KEY = "none"
PRIVATE_KEY = "-----BEGIN "
SPACE_AROUND = "begins or ends with whitespace, which is ignored."
MIN_SECRET_CHARS = 8
"""A shorter secret is not masked, because it may be part of ordinary words."""


def fault_of_secret(text: str, key: Key) -> str | None:
    """Why a secret cannot be used as written, or None. The reason does not quote the secret."""
    line = text.replace("\n", "") if text.startswith(PRIVATE_KEY) else text
    if line.isprintable() and not ("headers" in key and max(line, default="") > "\xff"):
        return None
    return "contains a control character, or one that HTTP headers do not allow; remove it."
