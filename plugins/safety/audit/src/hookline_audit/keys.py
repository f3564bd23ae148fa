"""The keys: a root, and the keys derived from it.

The root is 32 bytes in a file of the home (0600) or in the settings. Derived from it are the
Ed25519 key that signs checkpoints, the key that wraps the keys of the chats, and the key for
pseudonyms of chats. A chat's key encrypts the personal data in its rows and authenticates their
other columns.
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

KEY_BYTES = 32
MAX_CACHED_CHATS = 10_000
AUTHENTICATED_COLUMNS = ("node", "n", "at", "channel", "session", "turn", "kind", "verdict", "kid")
"""The columns that the encrypted body of a row authenticates."""


class InvalidKey(HooklineError):
    """A key cannot be used; the text says what to do."""


def read_root(path: Path, given: str | None) -> bytes:
    """Return the root: ``given`` in base64, else from the file, which is created if missing.

    Raises:
        InvalidKey: the key is malformed or cannot be read.
    """
    if given is None:
        try:
            given = path.read_text("ascii")
        except FileNotFoundError:
            return _new_root(path)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidKey(f"cannot read the audit key {path}: {error}") from error
        where = f"the file {path}"
    else:
        where = "plugins.audit.key"
    try:
        root = base64.b64decode(given.strip(), validate=True)
    except binascii.Error as error:
        raise InvalidKey(f"{where}: expected {KEY_BYTES} bytes in base64: {error}") from error
    if len(root) != KEY_BYTES:
        raise InvalidKey(f"{where}: expected {KEY_BYTES} bytes in base64, got {len(root)}")
    return root


def _new_root(path: Path) -> bytes:
    root = os.urandom(KEY_BYTES)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(base64.b64encode(root).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(temporary)  # fails if another process has created it
    except FileExistsError:
        return read_root(path, None)
    finally:
        temporary.unlink()
    return root


class AuditKeys:
    """All keys of a home. Writing uses them on the store's thread, reading on others."""

    def __init__(self, root: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._aes: type[AESGCM] = AESGCM
        self._wrapping = AESGCM(_derive(root, "wrap"))
        self._naming = _derive(root, "name")
        self.signing: Ed25519PrivateKey = Ed25519PrivateKey.from_private_bytes(
            _derive(root, "sign")
        )
        self.public = self.signing.public_key().public_bytes_raw().hex()
        """The public signing key, in hex."""
        self._by_kid: dict[str, AESGCM] = {}
        self._by_chat: dict[str, str] = {}

    def of_chat(self, tx: Transaction, chat: str, kids: dict[str, str]) -> tuple[str, AESGCM]:
        """Return id and key of a chat; create the key if there is none.

        ``kids`` collects the ids of this transaction, by chat, for :meth:`cache`.
        """
        kid = self._by_chat.get(chat) or kids.get(chat)
        if kid is not None:
            return kid, self._by_kid[kid]
        name = self.pseudonym(chat)
        for row in tx.fetch("key_of", chat=name):
            kid = str(row["kid"])
            self._by_kid[kid] = self.unwrap(kid, row["wrapped"])
            kids[chat] = kid
            return kid, self._by_kid[kid]
        kid, key = os.urandom(8).hex(), os.urandom(KEY_BYTES)
        tx.execute("add_key", kid=kid, chat=name, wrapped=self._wrap(kid, key))
        self._by_kid[kid] = self._aes(key)
        kids[chat] = kid
        return kid, self._by_kid[kid]

    def cache(self, kids: Mapping[str, str]) -> None:
        """Remember the key ids of a committed transaction."""
        if len(self._by_chat) > MAX_CACHED_CHATS:
            self._by_chat.clear()
        self._by_chat.update(kids)

    def forget(self) -> None:
        """Forget the keys of all chats: another process may have destroyed one."""
        self._by_chat.clear()
        self._by_kid.clear()

    def pseudonym(self, chat: str) -> str:
        """Return the name under which the key of a chat is stored."""
        return hmac.new(self._naming, chat.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[
            :32
        ]

    def unwrap(self, kid: str, wrapped: str) -> AESGCM:
        """Decrypt a stored key. Raises ``InvalidKey``."""
        from cryptography.exceptions import InvalidTag

        try:
            raw = base64.b64decode(wrapped)
            return self._aes(self._wrapping.decrypt(raw[:12], raw[12:], kid.encode()))
        except (InvalidTag, ValueError) as error:
            raise InvalidKey(
                f"the key {kid} of a chat was changed or belongs to another home"
            ) from error

    def _wrap(self, kid: str, key: bytes) -> str:
        nonce = os.urandom(12)
        return base64.b64encode(nonce + self._wrapping.encrypt(nonce, key, kid.encode())).decode()


def _derive(root: bytes, use: str) -> bytes:
    """HKDF-SHA256 (RFC 5869) for one block, without a salt."""
    extracted = hmac.new(bytes(KEY_BYTES), root, hashlib.sha256).digest()
    return hmac.new(
        extracted, f"hookline-audit-v1|{use}".encode() + b"\x01", hashlib.sha256
    ).digest()


def encrypt_body(key: AESGCM, row: Mapping[str, Any], body: str) -> str:
    """Encrypt the body of a row and authenticate its other columns."""
    nonce = os.urandom(12)
    return base64.b64encode(
        nonce + key.encrypt(nonce, body.encode(), _associated_data(row))
    ).decode()


def decrypt_body(key: AESGCM, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Decrypt the body of a row; None if the row is not as it was written."""
    from cryptography.exceptions import InvalidTag

    try:
        raw = base64.b64decode(row["body"], validate=True)
        body: dict[str, Any] = json.loads(key.decrypt(raw[:12], raw[12:], _associated_data(row)))
    except (InvalidTag, ValueError, TypeError):
        return None
    return body


def _associated_data(row: Mapping[str, Any]) -> bytes:
    """The authenticated columns of a row, as bytes."""
    return json.dumps([row[name] for name in AUTHENTICATED_COLUMNS]).encode()
