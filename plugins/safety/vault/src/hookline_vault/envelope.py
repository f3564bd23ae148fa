"""One secret, sealed: AES-256-GCM under a data key of its own, which a key wraps.

The name and the version are authenticated with both, so that no row can be passed off as another.
The hosts are sealed with the value: the table shows them, and cannot change them.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

NONCE = 12
"""Bytes of a nonce."""
KEY = 32
"""Bytes of a key."""


class BadSeal(Exception):
    """A row was changed, or does not belong to the key."""


class Key(Protocol):
    """Wraps data keys. ``reference`` tells it from every other key, and tells nothing of it."""

    reference: str

    def wrap(self, data_key: bytes, aad: bytes) -> bytes:
        """Return ``data_key`` encrypted."""

    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes:
        """Return the data key. Raises :class:`BadSeal`."""


@dataclass(frozen=True, slots=True)
class Content:
    """What is sealed: a value, the hosts it is sent to, and the header it is sent in."""

    value: str
    hosts: tuple[str, ...] = ()
    header: str = ""

    def __repr__(self) -> str:
        return f"Content(hosts={self.hosts!r})"


def seal(key: Key, name: str, version: int, content: Content) -> dict[str, Any]:
    """Return the columns of a row: ``name version nonce wrapped_key body hosts``."""
    data_key, nonce, aad = os.urandom(KEY), os.urandom(NONCE), _aad(name, version)
    plain = {"value": content.value, "hosts": list(content.hosts), "header": content.header}
    body = _sealed(data_key, nonce, json.dumps(plain).encode(), aad)
    return {
        "name": name,
        "version": version,
        "nonce": _text(nonce),
        "wrapped_key": _wrapped(key, data_key, aad),
        "body": _text(body),
        "hosts": shown_hosts(content.hosts, content.header),
    }


def unseal(key: Key, row: Mapping[str, Any]) -> Content:
    """Return the content of a row. Raises :class:`BadSeal`."""
    aad = _aad(row["name"], row["version"])
    data_key = key.unwrap(_bytes(row["wrapped_key"].partition("|")[2]), aad)
    data = json.loads(_opened(data_key, _bytes(row["nonce"]), _bytes(row["body"]), aad))
    content = Content(data["value"], tuple(data["hosts"]), data["header"])
    if row["hosts"] != shown_hosts(content.hosts, content.header):
        raise BadSeal
    return content


def rewrap(before: Key, after: Key, row: Mapping[str, Any]) -> str:
    """Return the column ``wrapped_key`` of a row under another key. Raises :class:`BadSeal`."""
    aad = _aad(row["name"], row["version"])
    data_key = before.unwrap(_bytes(row["wrapped_key"].partition("|")[2]), aad)
    return _wrapped(after, data_key, aad)


def reference_of(row: Mapping[str, Any]) -> str:
    """Return the reference of the key that a row is under."""
    reference: str = row["wrapped_key"].partition("|")[0]
    return reference


def shown_hosts(hosts: Sequence[str], header: str) -> str:
    """Return the column ``hosts``: JSON, and the same for the same hosts."""
    return json.dumps({"hosts": list(hosts), "header": header}) if hosts else "{}"


def encrypt(key: bytes, data: bytes, aad: bytes) -> bytes:
    """Encrypt with AES-256-GCM; the nonce stands before the result."""
    nonce = os.urandom(NONCE)
    return nonce + _sealed(key, nonce, data, aad)


def decrypt(key: bytes, data: bytes, aad: bytes) -> bytes:
    """The inverse of :func:`encrypt`. Raises :class:`BadSeal`."""
    return _opened(key, data[:NONCE], data[NONCE:], aad)


def _sealed(key: bytes, nonce: bytes, data: bytes, aad: bytes) -> bytes:
    # Imported when used: most starts of a process open no secret.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key).encrypt(nonce, data, aad)


def _opened(key: bytes, nonce: bytes, data: bytes, aad: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(nonce, data, aad)
    except (InvalidTag, ValueError) as error:
        raise BadSeal from error


def _wrapped(key: Key, data_key: bytes, aad: bytes) -> str:
    return f"{key.reference}|{_text(key.wrap(data_key, aad))}"


def _aad(name: str, version: int) -> bytes:
    return f"hookline-vault-v1|{name}|{version}".encode()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise BadSeal from error
