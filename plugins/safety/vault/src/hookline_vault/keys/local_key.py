"""Keys of 32 bytes in memory, and the base class of their sources."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from ..envelope import KEY_BYTES, WrappingKey, decrypt, encrypt
from .key_source import KeyContext, KeyUnavailable

HOW_TO_MAKE_KEY = "make one with `openssl rand -base64 32`"


class LocalKey:
    """A key in memory."""

    def __init__(self, key: bytes, kind: str = "local") -> None:
        """``kind`` is the prefix of the reference."""
        digest = hmac.digest(key, b"hookline-vault-key-id", hashlib.sha256)
        self.reference = f"{kind}:{digest[:8].hex()}"
        self.__key = key

    def wrap(self, data_key: bytes, aad: bytes) -> bytes:
        """Return ``data_key`` encrypted with AES-256-GCM."""
        return encrypt(self.__key, data_key, aad)

    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes:
        """Return the data key. Raises ``DecryptionFailed``."""
        return decrypt(self.__key, wrapped, aad)

    def __repr__(self) -> str:
        return f"LocalKey({self.reference})"


def parse_key(text: str, where: str) -> LocalKey:
    """Decode a key from base64. Raises :class:`KeyUnavailable` with ``where`` in its text."""
    try:
        key = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyUnavailable(
            f"{where} is not a key: expected 32 bytes in base64 ({HOW_TO_MAKE_KEY})."
        )
    return LocalKey(key)


class LocalSource:
    """Base of sources that have at most a current and a next key."""

    name = ""

    def __init__(self, context: KeyContext) -> None:
        self.context = context

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the current key, or with ``pending`` the next one; None if there is none."""
        raise NotImplementedError

    def find(self, reference: str) -> WrappingKey | None:
        """Return the current or next key if it has this reference."""
        if not reference.startswith("local:"):
            return None
        # The next key may become the current one between two reads.
        for pending in (False, True, False):
            key = self.read(pending=pending)
            if key is not None and key.reference == reference:
                return key
        return None

    def current(self) -> WrappingKey | None:
        """Return the current key, else the next one."""
        return self.read(pending=False) or self.read(pending=True)
