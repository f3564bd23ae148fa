"""``X-Hookline-Signature: sha256=<hex HMAC-SHA256 of the body>``, made and checked."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

HEADER = "X-Hookline-Signature"
_SCHEME = "sha256="


def signature(secret: bytes, body: bytes) -> str:
    """The header's value for ``body``; RFC 2104 with SHA-256, in lower-case hex."""
    return _SCHEME + hmac.new(secret, body, hashlib.sha256).hexdigest()


def is_signed(secret: bytes, body: bytes, given: Sequence[str]) -> bool:
    """True if ``given``, the values of the header, are one signature of exactly these bytes.

    Takes as long for a wrong signature as for the right one.
    """
    if len(given) != 1:
        return False
    wanted = signature(secret, body).encode("ascii")
    return hmac.compare_digest(wanted, given[0].strip().encode("utf-8", "replace"))
