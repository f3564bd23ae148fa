"""The key in the system keyring: macOS Keychain, Windows Credential Locker, Secret Service."""

from __future__ import annotations

import base64
import os
from typing import Any

from ..envelope import KEY_BYTES, WrappingKey
from .key_source import KeyUnavailable
from .local_key import LocalKey, LocalSource, parse_key

SERVICE = "hookline-vault"


class KeyringKeys(LocalSource):
    """Reads and writes the keyring, through the library ``keyring`` (extra ``keyring``)."""

    name = "keyring"

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the key in the keyring; None without the library or without a keyring."""
        keyring = _keyring()
        if keyring is None:
            return None
        try:
            text = keyring.get_password(SERVICE, self._entry(pending=pending))
        except keyring.errors.NoKeyringError:
            return None
        except Exception as error:  # each backend raises its own
            raise KeyUnavailable(f"Cannot read the keyring: {error}. Unlock it.") from None
        return parse_key(text, "The entry in the keyring") if text else None

    def prepare(self) -> WrappingKey:
        """Store a new key in the keyring next to the current one, unless an earlier call did."""
        if (pending := self.read(pending=True)) is not None:
            return pending
        key = os.urandom(KEY_BYTES)
        self._store(self._entry(pending=True), key)
        found = self.read(pending=True)
        if found is None or found.reference != LocalKey(key).reference:
            raise KeyUnavailable(
                "The keyring does not return the key that was stored. Use another source."
            )
        return found

    def promote(self, key: WrappingKey) -> str:
        """Make the next entry the current one."""
        keyring, pending = _keyring(), self._entry(pending=True)
        text = keyring.get_password(SERVICE, pending)
        if text and parse_key(text, "The entry in the keyring").reference == key.reference:
            self._store(self._entry(pending=False), base64.b64decode(text))
            keyring.delete_password(SERVICE, pending)
        return "The key is in the keyring of this account."

    def _entry(self, *, pending: bool) -> str:
        return f"{self.context.home}{' (next)' if pending else ''}"

    @staticmethod
    def _store(entry: str, key: bytes) -> None:
        keyring = _keyring()
        if keyring is None:
            raise KeyUnavailable(
                "The source keyring needs the library keyring. Run `pip install keyring`."
            )
        try:
            keyring.set_password(SERVICE, entry, base64.b64encode(key).decode("ascii"))
        except Exception as error:
            raise KeyUnavailable(
                f"Cannot write to the keyring: {error}. Use another source."
            ) from None


def _keyring() -> Any:
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    return keyring
