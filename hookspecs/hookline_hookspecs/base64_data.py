"""Decodes base64 as programs really send it."""

from __future__ import annotations

import base64
import re
from urllib.parse import unquote, unquote_to_bytes

_DATA_ADDRESS = re.compile(r"\s*data:([^,]*),", re.IGNORECASE)
_URL_SAFE = str.maketrans("-_", "+/")


def decode_base64(text: str) -> bytes:
    """Return the bytes of base64 or of a ``data:`` address (RFC 2397).

    Line breaks, missing padding and the alphabet for addresses (RFC 4648, section 5) are accepted.

    Raises:
        ValueError: it is something else.
    """
    if found := _DATA_ADDRESS.match(text):
        text = text[found.end() :]
        if not re.search(r";\s*base64\s*$", found[1], re.IGNORECASE):
            return unquote_to_bytes(text)
        text = unquote(text)
    text = "".join(text.split()).translate(_URL_SAFE).rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
