"""The key in the system's keyring: macOS Keychain, Windows Credential Locker, Secret Service."""

from __future__ import annotations

import base64
import os
from typing import Any

from ..envelope import KEY, Key
from .local import LocalKey, LocalSource, parse_key
from .source import KeyFault

SERVICE = "hookline-vault"


class KeyringKeys(LocalSource):
    """Reads and writes the keyring, through the library ``keyring`` (extra ``keyring``)."""

    name = "keyring"

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the key in the keyring; None without the library, or without a keyring."""
        keyring = _keyring()
        if keyring is None:
            return None
        try:
            text = keyring.get_password(SERVICE, self._entry(pending=pending))
        except keyring.errors.NoKeyringError:
            return None
        except Exception as error:  # each keyring has its own
            raise KeyFault(f"The keyring does not answer: {error}; unlock it.") from None
        return parse_key(text, "The entry in the keyring") if text else None

    def prepare(self) -> Key:
        """Put a new key into the keyring beside the present one, unless an earlier call has."""
        if (left := self.read(pending=True)) is not None:
            return left
        key = os.urandom(KEY)
        self._store(self._entry(pending=True), key)
        found = self.read(pending=True)
        if found is None or found.reference != LocalKey(key).reference:
            raise KeyFault("The keyring does not give back what it was given; use another source.")
        return found

    def promote(self, key: Key) -> str:
        """Make the next entry the present one."""
        keyring, pending = _keyring(), self._entry(pending=True)
        text = keyring.get_password(SERVICE, pending)
        if text and parse_key(text, "The entry in the keyring").reference == key.reference:
            self._store(self._entry(pending=False), base64.b64decode(text))
            keyring.delete_password(SERVICE, pending)
        return "The key is in the keyring of this account."

    def _entry(self, *, pending: bool) -> str:
        return f"{self.place.home}{' (next)' if pending else ''}"

    @staticmethod
    def _store(entry: str, key: bytes) -> None:
        keyring = _keyring()
        if keyring is None:
            raise KeyFault(
                "The keyring needs the library keyring, which is not installed beside Hookline."
            )
        try:
            keyring.set_password(SERVICE, entry, base64.b64encode(key).decode("ascii"))
        except Exception as error:
            raise KeyFault(f"The keyring takes no key: {error}; use another source.") from None


def _keyring() -> Any:
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    return keyring
