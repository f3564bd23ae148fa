"""Checks secret values of a config: which cannot be used, and which are too short to mask."""

from __future__ import annotations

from hookline_hookspecs.setting_errors import Key

NO_KEY = "none"
PRIVATE_KEY = "-----BEGIN "
SPACE_AROUND = "begins or ends with a space or the end of a line, which is left out."
SHORTEST_SECRET = 8


def fault_of_secret(text: str, key: Key) -> str | None:
    """Why a secret cannot be used as written, or None; the reason does not repeat the secret."""
    line = text.replace("\n", "") if text.startswith(PRIVATE_KEY) else text
    if line.isprintable() and not ("headers" in key and max(line, default="") > "\xff"):
        return None
    return (
        "holds a control character, or a letter that an HTTP header cannot carry; write it without."
    )
