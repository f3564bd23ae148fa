"""The key in a HashiCorp Vault or OpenBao: it wraps (transit), or it stores the key (kv version 2).

With transit the key never leaves that server: to lose this machine and the database is not to lose
the secrets, and the token can be withdrawn.
"""

from __future__ import annotations

import base64
import os
import re
from typing import Any
from urllib.parse import urlsplit

from ..envelope import KEY, BadSeal, Key
from .local import LocalKey, LocalSource, parse_key
from .source import KeyFault, Place

LARGEST = 1_000_000
"""Bytes of an answer."""


class Server:
    """Calls of the HTTP API. Raises :class:`KeyFault` for all but an answer of 200 or 204."""

    def __init__(self, place: Place) -> None:
        config, env = place.config.hashicorp, place.env
        self.address = (config.address or env.get("VAULT_ADDR", "")).rstrip("/")
        self._token = env.get("VAULT_TOKEN", "")
        self._namespace = config.namespace or env.get("VAULT_NAMESPACE", "")
        self._timeout = config.timeout

    def call(self, method: str, path: str, body: Any = None) -> dict[str, Any] | None:
        """Return the ``data`` of an answer; None if there is nothing at ``path``."""
        import httpx2

        self._require_safe()
        headers = {"X-Vault-Token": self._token, "X-Vault-Request": "true"}
        headers |= {"X-Vault-Namespace": self._namespace} if self._namespace else {}
        url = f"{self.address}/v1/{path}"
        try:
            with httpx2.Client(timeout=self._timeout, follow_redirects=False) as client:
                response = client.request(method, url, json=body, headers=headers)
        except httpx2.HTTPError as error:
            told = f"{type(error).__name__}: {error}"
            raise KeyFault(
                f"{self.address} cannot be reached ({told}); see that it runs."
            ) from None
        if response.status_code == 404:
            return None
        if response.status_code not in (200, 204) or len(response.content) > LARGEST:
            raise KeyFault(self._refusal(response, path))
        found = response.json().get("data") if response.content else {}
        return found if isinstance(found, dict) else {}

    def _refusal(self, response: Any, path: str) -> str:
        try:
            said = "; ".join(map(str, response.json()["errors"])) or "no reason"
        except Exception:  # no JSON, or another shape
            said = "no reason"
        mend = {
            403: "give VAULT_TOKEN a token whose policy allows it",
            503: "unseal it",
            400: "see `plugins.vault.hashicorp`",
        }.get(response.status_code, "see its log")
        status = response.status_code
        return f"{self.address} answers {status} to {path} ({said[:200]}); {mend}."

    def _require_safe(self) -> None:
        parts = urlsplit(self.address)
        is_here = (parts.hostname or "") in ("localhost", "127.0.0.1", "::1")
        if parts.scheme != "https" and not (parts.scheme == "http" and is_here):
            raise KeyFault(f"{self.address!r} is no https address, so that no token is sent there.")
        if not self._token:
            raise KeyFault(f"VAULT_TOKEN is not set, which {self.address} asks for.")


class TransitKey:
    """A key of the transit engine, which wraps and unwraps there."""

    def __init__(self, server: Server, mount: str, name: str) -> None:
        self.reference = f"transit:{mount}/{name}"
        self._server, self._mount, self._name = server, mount, name

    def wrap(self, data_key: bytes, aad: bytes) -> bytes:
        """Return ``data_key`` as the server encrypts it."""
        sent = {"plaintext": _base64(data_key), "associated_data": _base64(aad)}
        path = f"{self._mount}/encrypt/{self._name}"
        data = self._server.call("POST", path, sent) or {}
        text = data.get("ciphertext")
        if not isinstance(text, str) or not text.startswith("vault:"):
            raise KeyFault(f"{self._server.address} gives no ciphertext for {path}.")
        return text.encode()

    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes:
        """Return the data key. Raises ``BadSeal`` if the server takes it for changed."""
        sent = {"ciphertext": wrapped.decode("ascii", "replace"), "associated_data": _base64(aad)}
        try:
            data = self._server.call("POST", f"{self._mount}/decrypt/{self._name}", sent) or {}
            key = base64.b64decode(data.get("plaintext", ""), validate=True)
        except KeyFault as fault:
            if " answers 400 " in str(fault):
                raise BadSeal from None
            raise
        except ValueError:
            raise BadSeal from None
        if len(key) != KEY:
            raise BadSeal
        return key


class HashicorpKeys(LocalSource):
    """The engine that ``plugins.vault.hashicorp.mode`` names; off without an address."""

    name = "hashicorp"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        config = place.config.hashicorp
        self._server = Server(place)
        self._is_transit = config.mode == "transit"
        self._mount = (config.mount or ("transit" if self._is_transit else "secret")).strip("/")
        self._name = config.name.strip("/")
        if not re.fullmatch(r"[\w./-]+", self._mount + self._name):
            raise KeyFault(
                "plugins.vault.hashicorp: mount and name hold letters, digits, . _ - and /."
            )

    def find(self, reference: str) -> Key | None:
        """Return the key of transit, or one that kv has."""
        if not self._server.address:
            return None
        if not self._is_transit:
            return super().find(reference)
        key = TransitKey(self._server, self._mount, self._name)
        return key if key.reference == reference else None

    def current(self) -> Key | None:
        """Return the key that is there; transit makes one that is not."""
        if not self._server.address:
            return None
        return self._transit(rotate=False) if self._is_transit else super().current()

    def prepare(self) -> Key:
        """Have transit make a new version of its key, or keep a next key in kv."""
        if not self._server.address:
            raise KeyFault("Set VAULT_ADDR, or plugins.vault.hashicorp.address, and VAULT_TOKEN.")
        if self._is_transit:
            return self._transit(rotate=True)
        if (left := self.read(pending=True)) is not None:
            return left
        found, version = self._stored()
        key = os.urandom(KEY)
        self._store({**found, "next": _base64(key)}, version)
        return LocalKey(key)

    def promote(self, key: Key) -> str:
        """Make the next key in kv the present one; transit has nothing left to do."""
        if not self._is_transit:
            found, version = self._stored()
            following = found.get("next")
            if following and parse_key(following, "kv").reference == key.reference:
                self._store({"key": following}, version)
        return f"The key is kept by {self._server.address}."

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the present or the next key in kv."""
        text = self._stored()[0].get("next" if pending else "key")
        return parse_key(text, f"{self._mount}/{self._name}") if text else None

    def _transit(self, *, rotate: bool) -> Key:
        path = f"{self._mount}/keys/{self._name}"
        if self._server.call("GET", path) is None:
            self._server.call("POST", path, {"type": "aes256-gcm96"})
        elif rotate:
            self._server.call("POST", f"{path}/rotate", {})
        return TransitKey(self._server, self._mount, self._name)

    def _stored(self) -> tuple[dict[str, str], int]:
        """What kv has, and its version for compare-and-set; 0 for nothing."""
        found = self._server.call("GET", f"{self._mount}/data/{self._name}") or {}
        version = (found.get("metadata") or {}).get("version", 0)
        return dict(found.get("data") or {}), version

    def _store(self, data: dict[str, str], version: int) -> None:
        body = {"options": {"cas": version}, "data": data}
        self._server.call("POST", f"{self._mount}/data/{self._name}", body)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
