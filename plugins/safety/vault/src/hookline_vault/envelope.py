"""Encrypts one secret with its own data key (AES-256-GCM), which the vault's key wraps.

Name and version are authenticated with both, so that no row can pass for another. The hosts are
encrypted with the value; the copy in the table is only for display.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

NONCE_BYTES = 12
KEY_BYTES = 32


class DecryptionFailed(Exception):
    """A row was changed or does not match the key."""


class WrappingKey(Protocol):
    """Encrypts data keys. ``reference`` identifies it and reveals nothing about it."""

    reference: str

    def wrap(self, data_key: bytes, aad: bytes) -> bytes:
        """Return ``data_key`` encrypted."""

    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes:
        """Return the data key. Raises :class:`DecryptionFailed`."""


@dataclass(frozen=True, slots=True)
class SecretContent:
    """What is encrypted: a value, the hosts it is sent to, and the header template."""

    value: str
    hosts: tuple[str, ...] = ()
    header: str = ""

    def __repr__(self) -> str:
        return f"SecretContent(hosts={self.hosts!r})"


def seal(key: WrappingKey, name: str, version: int, content: SecretContent) -> dict[str, Any]:
    """Return the columns of a row: ``name version nonce wrapped_key body hosts``."""
    data_key, nonce, aad = os.urandom(KEY_BYTES), os.urandom(NONCE_BYTES), _aad(name, version)
    plain = {"value": content.value, "hosts": list(content.hosts), "header": content.header}
    body = _aes_encrypt(data_key, nonce, json.dumps(plain).encode(), aad)
    return {
        "name": name,
        "version": version,
        "nonce": _to_base64(nonce),
        "wrapped_key": _wrap(key, data_key, aad),
        "body": _to_base64(body),
        "hosts": hosts_column(content.hosts, content.header),
    }


def unseal(key: WrappingKey, row: Mapping[str, Any]) -> SecretContent:
    """Return the content of a row. Raises :class:`DecryptionFailed`."""
    aad = _aad(row["name"], row["version"])
    data_key = key.unwrap(_from_base64(row["wrapped_key"].partition("|")[2]), aad)
    data = json.loads(
        _aes_decrypt(data_key, _from_base64(row["nonce"]), _from_base64(row["body"]), aad)
    )
    content = SecretContent(data["value"], tuple(data["hosts"]), data["header"])
    if row["hosts"] != hosts_column(content.hosts, content.header):
        raise DecryptionFailed
    return content


def rewrap(old: WrappingKey, new: WrappingKey, row: Mapping[str, Any]) -> str:
    """Return the column ``wrapped_key`` for another key. Raises :class:`DecryptionFailed`."""
    aad = _aad(row["name"], row["version"])
    data_key = old.unwrap(_from_base64(row["wrapped_key"].partition("|")[2]), aad)
    return _wrap(new, data_key, aad)


def reference_of(row: Mapping[str, Any]) -> str:
    """Return the reference of the key that a row is encrypted with."""
    reference: str = row["wrapped_key"].partition("|")[0]
    return reference


def hosts_column(hosts: Sequence[str], header: str) -> str:
    """Return the column ``hosts``: JSON, the same for equal hosts."""
    return json.dumps({"hosts": list(hosts), "header": header}) if hosts else "{}"


def encrypt(key: bytes, data: bytes, aad: bytes) -> bytes:
    """Encrypt with AES-256-GCM; the result starts with the nonce."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + _aes_encrypt(key, nonce, data, aad)


def decrypt(key: bytes, data: bytes, aad: bytes) -> bytes:
    """The inverse of :func:`encrypt`. Raises :class:`DecryptionFailed`."""
    return _aes_decrypt(key, data[:NONCE_BYTES], data[NONCE_BYTES:], aad)


def _aes_encrypt(key: bytes, nonce: bytes, data: bytes, aad: bytes) -> bytes:
    # Imported when used: most processes open no secret.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key).encrypt(nonce, data, aad)


def _aes_decrypt(key: bytes, nonce: bytes, data: bytes, aad: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(nonce, data, aad)
    except (InvalidTag, ValueError) as error:
        raise DecryptionFailed from error


def _wrap(key: WrappingKey, data_key: bytes, aad: bytes) -> str:
    return f"{key.reference}|{_to_base64(key.wrap(data_key, aad))}"


def _aad(name: str, version: int) -> bytes:
    return f"hookline-vault-v1|{name}|{version}".encode()


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise DecryptionFailed from error
