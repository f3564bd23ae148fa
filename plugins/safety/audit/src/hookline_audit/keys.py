"""The keys: one root, and what is made of it.

The root is 32 bytes in a file of the home (0600), or in the settings. Made of it are the Ed25519
key that signs checkpoints, the key that wraps the chats' keys, and the one that makes pseudonyms of
chats. A chat's own key encrypts what is personal in its rows, and vouches for the rest of them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import HooklineError, Transaction

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SIZE = 32
VOUCHED = ("node", "n", "at", "channel", "session", "turn", "kind", "verdict", "kid")
"""The columns that a row's body vouches for."""


class BadKey(HooklineError):
    """A key cannot be used; the text says what to do."""


def read_root(path: Path, given: str | None) -> bytes:
    """Return the root: ``given`` in base64, else from the file, which is made if it is missing.

    Raises:
        BadKey: it is no key.
    """
    if given is None:
        try:
            given = path.read_text("ascii")
        except FileNotFoundError:
            return _new_root(path)
        except (OSError, UnicodeDecodeError) as error:
            raise BadKey(f"the audit's key {path} cannot be read: {error}") from error
        where = f"the file {path}"
    else:
        where = "plugins.audit.key"
    try:
        root = base64.b64decode(given.strip(), validate=True)
    except binascii.Error as error:
        raise BadKey(f"{where} holds no key: {error}; it is {SIZE} bytes in base64") from error
    if len(root) != SIZE:
        raise BadKey(f"{where} holds {len(root)} bytes; a key has {SIZE}, in base64")
    return root


def _new_root(path: Path) -> bytes:
    root = os.urandom(SIZE)
    made = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(base64.b64encode(root).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(made)  # never over one that another process has made meanwhile
    except FileExistsError:
        return read_root(path, None)
    finally:
        made.unlink()
    return root


class Keys:
    """All keys of a home. Used on the store's thread, and on others for reading."""

    def __init__(self, root: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._aes: type[AESGCM] = AESGCM
        self._wrapping = AESGCM(_derived(root, "wrap"))
        self._naming = _derived(root, "name")
        self.signing: Ed25519PrivateKey = Ed25519PrivateKey.from_private_bytes(
            _derived(root, "sign")
        )
        self.public = self.signing.public_key().public_bytes_raw().hex()
        """The public half of the signing key, 64 hexadecimal digits."""
        self._by_kid: dict[str, AESGCM] = {}
        self._by_chat: dict[str, str] = {}

    def of_chat(self, tx: Transaction, chat: str, made: dict[str, str]) -> tuple[str, AESGCM]:
        """Return a chat's key and its id, made now if it has none. ``made`` keeps what this
        transaction has found or made, until :meth:`keep`."""
        kid = self._by_chat.get(chat) or made.get(chat)
        if kid is not None:
            return kid, self._by_kid[kid]
        name = self.pseudonym(chat)
        for row in tx.fetch("key_of", chat=name):
            kid = str(row["kid"])
            self._by_kid[kid] = self.unwrapped(kid, row["wrapped"])
            made[chat] = kid
            return kid, self._by_kid[kid]
        kid, key = os.urandom(8).hex(), os.urandom(SIZE)
        tx.execute("add_key", kid=kid, chat=name, wrapped=self._wrapped(kid, key))
        self._by_kid[kid], made[chat] = self._aes(key), kid
        return kid, self._by_kid[kid]

    def keep(self, made: Mapping[str, str]) -> None:
        """Remember what a transaction that was committed has found or made."""
        if len(self._by_chat) > 10_000:
            self._by_chat.clear()
        self._by_chat.update(made)

    def forget(self) -> None:
        """Forget every chat's key: another process may have destroyed one."""
        self._by_chat.clear()
        self._by_kid.clear()

    def pseudonym(self, chat: str) -> str:
        """Return the name under which a chat's key is stored."""
        return hmac.new(self._naming, chat.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[
            :32
        ]

    def unwrapped(self, kid: str, wrapped: str) -> AESGCM:
        """Return a stored key. Raises ``BadKey``."""
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(wrapped)
            return self._aes(self._wrapping.decrypt(raw[:12], raw[12:], kid.encode()))
        except (InvalidTag, ValueError) as error:
            raise BadKey(
                f"the key {kid} of a chat was changed, or belongs to another home"
            ) from error

    def _wrapped(self, kid: str, key: bytes) -> str:
        nonce = os.urandom(12)
        return base64.b64encode(nonce + self._wrapping.encrypt(nonce, key, kid.encode())).decode()


def _derived(root: bytes, use: str) -> bytes:
    """HKDF-SHA256 (RFC 5869) for one block, without a salt."""
    extracted = hmac.new(bytes(SIZE), root, hashlib.sha256).digest()
    return hmac.new(
        extracted, f"hookline-audit-v1|{use}".encode() + b"\x01", hashlib.sha256
    ).digest()


def sealed_body(key: AESGCM, row: Mapping[str, Any], body: str) -> str:
    """Return a row's body, encrypted; the row's other columns are vouched for."""
    nonce = os.urandom(12)
    return base64.b64encode(nonce + key.encrypt(nonce, body.encode(), vouched(row))).decode()


def opened_body(key: AESGCM, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what :func:`sealed_body` has encrypted; None if the row is not as it was written."""
    from cryptography.exceptions import InvalidTag

    try:
        raw = base64.b64decode(row["body"], validate=True)
        found: dict[str, Any] = json.loads(key.decrypt(raw[:12], raw[12:], vouched(row)))
    except (InvalidTag, ValueError, TypeError):
        return None
    return found


def vouched(row: Mapping[str, Any]) -> bytes:
    """The columns of a row that its body vouches for, as bytes."""
    return json.dumps([row[name] for name in VOUCHED]).encode()
