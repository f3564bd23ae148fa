"""Keys of 32 bytes that this process holds, and what the sources that give them have in common."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from ..envelope import KEY, Key, decrypt, encrypt
from .source import KeyFault, Place

MAKE = "`openssl rand -base64 32` makes one"


class LocalKey:
    """A key in memory."""

    def __init__(self, key: bytes, kind: str = "local") -> None:
        """``kind`` is how the reference begins."""
        digest = hmac.digest(key, b"hookline-vault-key-id", hashlib.sha256)
        self.reference = f"{kind}:{digest[:8].hex()}"
        self.__key = key

    def wrap(self, data_key: bytes, aad: bytes) -> bytes:
        """Return ``data_key`` encrypted with AES-256-GCM."""
        return encrypt(self.__key, data_key, aad)

    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes:
        """Return the data key. Raises ``BadSeal``."""
        return decrypt(self.__key, wrapped, aad)

    def __repr__(self) -> str:
        return f"LocalKey({self.reference})"


def parse_key(text: str, where: str) -> LocalKey:
    """Return the key that ``text`` holds in base64. Raises :class:`KeyFault`, naming ``where``."""
    try:
        key = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY:
        raise KeyFault(f"{where} is no key: wanted 32 bytes in base64; {MAKE}.")
    return LocalKey(key)


class LocalSource:
    """A source that gives at most a present and a next key."""

    name = ""

    def __init__(self, place: Place) -> None:
        self.place = place

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the present key, or with ``pending`` the next one; None if there is none."""
        raise NotImplementedError

    def find(self, reference: str) -> Key | None:
        """Return whichever of the two has this reference."""
        if not reference.startswith("local:"):
            return None
        # The next key may become the present one between the two reads.
        for pending in (False, True, False):
            key = self.read(pending=pending)
            if key is not None and key.reference == reference:
                return key
        return None

    def current(self) -> Key | None:
        """Return the present key, else one that was being made."""
        return self.read(pending=False) or self.read(pending=True)
