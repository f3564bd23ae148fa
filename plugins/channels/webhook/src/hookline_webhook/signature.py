"""Makes and checks ``X-Hookline-Signature: sha256=<hex HMAC-SHA256 of the body>``."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

HEADER = "X-Hookline-Signature"
_SCHEME = "sha256="


def signature(secret: bytes, body: bytes) -> str:
    """Return the header's value for ``body``: RFC 2104 with SHA-256, in lower-case hex."""
    return _SCHEME + hmac.new(secret, body, hashlib.sha256).hexdigest()


def is_signed(secret: bytes, body: bytes, given: Sequence[str]) -> bool:
    """Whether ``given``, the values of the header, are one valid signature of the body.

    Without a secret no signature is valid: anyone could make it. Takes equally long for a wrong
    signature and the right one.
    """
    if not secret or len(given) != 1:
        return False
    expected = signature(secret, body).encode("ascii")
    return hmac.compare_digest(expected, given[0].strip().encode("utf-8", "replace"))
